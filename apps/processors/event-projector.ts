import { ofGeneration, on, type Processor } from '#log';
import type { Generation } from '#stores';
import { events, eventsGroup } from '#topics';
import { placed } from './placed.js';

/** Puts every event into the event store of a generation, the service's own ones too. */
export const eventProjector = ({ suffix, events: store }: Pick<Generation, 'suffix' | 'events'>): Processor => ({
  group: ofGeneration(eventsGroup, suffix),
  inputs: [on(events, (records, lease) => store.write(placed(records), lease))],
  checkpoint: () => store.checkpoint(),
});
