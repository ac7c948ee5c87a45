import type { EventStore } from './event-store.js';
import type { SeriesStore } from './series-store.js';

export const GENERATIONS = Symbol('Generations');

/** One copy of what is projected into stores, and who keeps it. */
export interface Generation {
  /** What the names of its consumer groups end with, for example `.g2`; empty where there is one for good. */
  readonly suffix: string;
  readonly series: SeriesStore;
  readonly events: EventStore;
}

/** The generations to keep up to date. */
export interface Generations {
  /** Resolves when `wanted` knows what there was when this was opened; that is no change. */
  readonly ready: Promise<void>;
  /** First the one that readers see, then the one that is made beside it, if any. None until there is a first one. */
  wanted(): readonly Generation[];
  /** Calls `listener` after what is wanted has changed. Returns how to end that. */
  changes(listener: () => void): () => void;
}

/** One generation for good. */
export function onlyGeneration(series: SeriesStore, events: EventStore): Generations {
  const wanted = [{ suffix: '', series, events }];
  return { ready: Promise.resolve(), wanted: () => wanted, changes: () => () => {} };
}
