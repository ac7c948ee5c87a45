import type { Processor, RecordLog, Views } from '#log';
import type { EventStore, Generation, SeriesStore } from '#stores';
import { EventProjector } from './event-projector.js';
import { SeriesProjector } from './series-projector.js';
import { SourceTracker } from './source-tracker.js';

interface Ports {
  readonly log: RecordLog;
  readonly views: Views;
  readonly series: SeriesStore;
  readonly events: EventStore;
}

/** Every processor, for work on a data folder without a server. */
export function processorsOf({ log, views, series, events }: Ports): Processor[] {
  return [...projectorsOf({ suffix: '', series, events }), new SourceTracker(log, views)];
}

/** The processors that keep one generation up to date. */
export const projectorsOf = (generation: Generation): Processor[] => [new SeriesProjector(generation), new EventProjector(generation)];
