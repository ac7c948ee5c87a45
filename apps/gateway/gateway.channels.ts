import type { Channel } from '#edge';
import { deviceChannel } from './device/device.channel.js';
import { streamChannels } from './streams/streams.channels.js';

/** The WebSockets of the gateway. */
export const gatewayChannels: readonly Channel[] = [deviceChannel, ...streamChannels];
