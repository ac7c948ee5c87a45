import { Outbound } from '#edge';

/** Sends only to the public internet, and no mail. */
export const noOutbound = new Outbound({ networks: [], server: '', from: '', clock: Date.now });
