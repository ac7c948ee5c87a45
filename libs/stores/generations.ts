import type { EventStore } from './event-store.js';
import type { SeriesStore } from './series-store.js';

export const GENERATIONS = Symbol('Generations');

/** What is projected from the log. */
export interface Stores {
  readonly series: SeriesStore;
  readonly events: EventStore;
}

/** One copy of what is projected, and who keeps it. */
export interface Generation extends Stores {
  /** What the names of its consumer groups end with, for example `.g2`; empty where there is one for good. */
  readonly suffix: string;
}

/** The generations to read from and to keep up to date. */
export interface Generations {
  /** Resolves when it is known which generations there were when this was opened; `changes` does not report these. */
  readonly ready: Promise<void>;
  /** The one that readers see now: ask once for each request. Throws `store_unavailable` until there is a first one. */
  live(): Stores;
  /** First the one that readers see, then the one that is made beside it, if any. None until there is a first one. */
  wanted(): readonly Generation[];
  /** To be called before a deletion is appended. */
  beforeDeletion(): void;
  /** How many reads the stores answer at once; more of them would only wait there. */
  readonly readsAtOnce: number;
  /** Why writers of these generations have to wait, in words for the operator; undefined when they need not. */
  whyNotWritten(): string | undefined;
  /** Calls `listener` after what is wanted has changed. Returns a function that ends this. */
  changes(listener: () => void): () => void;
}

/** One generation for good. */
export function onlyGeneration({ series, events }: Stores, beforeDeletion = (): void => {}): Generations {
  const only = { suffix: '', series, events };
  return {
    ready: Promise.resolve(),
    live: () => only,
    wanted: () => [only],
    beforeDeletion,
    // One thread reads: the second has its next question there when it is done.
    readsAtOnce: 2,
    whyNotWritten: () => undefined,
    changes: () => () => {},
  };
}
