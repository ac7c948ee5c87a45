import { TelemetryError } from '#model';
import { SortedKeys } from './sorted-keys.js';
import type { StreamRecord } from './topic.js';
import type { Change, View } from './view.js';

export interface MapViewOptions {
  readonly ready: Promise<void>;
  readonly caughtUp: () => Promise<void>;
  readonly ageMs: () => number;
  /** Whether a record came after the view was opened: those that were there before are no changes. */
  readonly isChange: (record: StreamRecord) => boolean;
  /** How long catching up may take, milliseconds; 15 seconds when left out. */
  readonly patienceMs?: number;
}

const patienceMs = 15_000;

/** The newest value of each key of one topic, for adapters that apply its records in their order. */
export class MapView implements View<unknown> {
  readonly ready: Promise<void>;
  readonly #values = new Map<string, unknown>();
  readonly #listeners = new Set<(change: Change<unknown>) => void>();
  /** Made at the first scan: a view that is only asked for keys does without. */
  #keys: SortedKeys | undefined;
  #failedMs: number | undefined;

  constructor(private readonly options: MapViewOptions) {
    this.ready = options.ready;
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  *scan(prefix: string): Iterable<readonly [string, unknown]> {
    this.#keys ??= new SortedKeys(this.#values.keys());
    for (const key of this.#keys.startingWith(prefix)) {
      const value = this.#values.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  changes(listener: (change: Change<unknown>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  caughtUp(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const late = (): void =>
      reject(new TelemetryError('log_unavailable', 'The log has not been read to its end in time.', { retryAfterS: 1 }));
    const timer = setTimeout(late, this.options.patienceMs ?? patienceMs);
    void this.options
      .caughtUp()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
    return promise;
  }

  ageMs(): number {
    return this.#failedMs === undefined ? this.options.ageMs() : performance.now() - this.#failedMs;
  }

  apply(record: StreamRecord): void {
    const { key, value } = record;
    if (value === null) {
      if (this.#values.delete(key)) this.#keys?.delete(key);
    } else {
      if (!this.#values.has(key)) this.#keys?.add(key);
      this.#values.set(key, value);
    }
    if (this.options.isChange(record)) for (const listener of this.#listeners) tell(listener, { key, value });
  }

  /** It shows no more changes: it ages from now on. */
  fail(): void {
    this.#failedMs ??= performance.now();
  }
}

/** A listener that throws is wrong by itself: the log goes on, and the error ends up where uncaught ones do. */
function tell(listener: (change: Change<unknown>) => void, change: Change<unknown>): void {
  try {
    listener(change);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
