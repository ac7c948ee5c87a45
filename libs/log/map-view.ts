import { TelemetryError } from '#model';
import { NewestValues } from './newest-values.js';
import type { Unreadable } from './record-log.js';
import type { StreamRecord } from './topic.js';
import { untilShown } from './until-shown.js';
import type { Change, UnreadableKey, View } from './view.js';

export interface MapViewOptions {
  readonly ready: Promise<void>;
  readonly caughtUp: () => Promise<void>;
  readonly ageMs: () => number;
  /** Whether a record came after the view was opened: those that were there before are no changes. */
  readonly isChange: (record: Pick<StreamRecord, 'partition' | 'offset'>) => boolean;
  /** How long catching up may take, milliseconds; 15 seconds when left out. */
  readonly patienceMs?: number;
}

const patienceMs = 15_000;

/** The newest value of each key of one topic, for adapters that apply its records in their order. */
export class MapView implements View<unknown> {
  readonly ready: Promise<void>;
  readonly #listeners = new Set<(change: Change<unknown>) => void>();
  #newest = new NewestValues();
  #failedMs: number | undefined;

  constructor(private readonly options: MapViewOptions) {
    this.ready = options.ready;
  }

  get(key: string): unknown {
    return this.#newest.get(key);
  }

  *scan(prefix: string): Iterable<readonly [string, unknown]> {
    for (const key of this.#newest.startingWith(prefix)) {
      const value = this.#newest.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  changes(listener: (change: Change<unknown>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  until(key: string, predicate: (value: unknown) => boolean, ms: number): Promise<unknown> {
    return untilShown(this, key, predicate, ms);
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
    this.#newest.take(record);
    if (this.options.isChange(record)) this.#tell({ key, value });
  }

  /** Takes a record that cannot be decoded. */
  refuse(record: Unreadable): void {
    const { key } = record;
    const before = this.#newest.get(key);
    this.#newest.refuse(record);
    if (before !== undefined && this.#newest.get(key) === undefined && this.options.isChange(record)) this.#tell({ key, value: null });
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return [...this.#newest.unreadable];
  }

  /**
   * Shows what the topic says when it is read again from its beginning. Listeners hear of each key that is gone, and of each that is new.
   *
   * @param changed keys that have got another value since they were read before.
   */
  replace(newest: NewestValues, changed: ReadonlySet<string>): void {
    const before = this.#newest;
    this.#newest = newest;
    for (const key of before.keys()) if (newest.get(key) === undefined) this.#tell({ key, value: null });
    for (const key of newest.keys()) {
      if (changed.has(key) || before.get(key) === undefined) this.#tell({ key, value: newest.get(key) });
    }
  }

  /** It shows no more changes: it ages from now on. */
  fail(): void {
    this.#failedMs ??= performance.now();
  }

  #tell(change: Change<unknown>): void {
    for (const listener of this.#listeners) tell(listener, change);
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
