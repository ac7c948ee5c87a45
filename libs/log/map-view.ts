import { setTimeout } from 'node:timers/promises';
import { TelemetryError } from '#model';
import { LogGap, type Following } from './follow.js';
import { inTime } from './in-time.js';
import { NewestValues } from './newest-values.js';
import type { RecordLog } from './record-log.js';
import type { AnyTopic, StreamRecord, Unreadable } from './topic.js';
import { logIsLate, untilShown } from './until-shown.js';
import type { Change, Page, UnreadableKey, View } from './view.js';

const patienceMs = 15_000;
const retryMs = 1000;

/**
 * The newest value of each key of one topic. It is read from its beginning aside, and shown once that is done; after a gap it is read again in the
 * same way, while it shows what it showed and ages.
 */
export class MapView implements View<unknown> {
  readonly #listeners = new Set<(change: Change<unknown>) => void>();
  readonly #ready = Promise.withResolvers<void>();
  #newest = new NewestValues();
  /** Offset that each partition goes on with, of what is shown. */
  #next: number[] = [];
  #following!: Following;
  /** Resolves when what is read aside is shown. */
  #shown!: Promise<void>;
  /** Since when it has not held all that was in the log; undefined while the following says that. */
  #behindSinceMs: number | undefined = performance.now();
  #failure: Error | undefined;
  #isReady = false;

  /** @param maxCatchUpMs how long catching up may take, milliseconds. */
  constructor(
    private readonly log: Pick<RecordLog, 'follow'>,
    private readonly topic: AnyTopic,
    private readonly maxCatchUpMs = patienceMs,
  ) {
    // Callers that await it get the failure; for everybody else the age tells of it.
    this.ready.catch(() => undefined);
    this.#read();
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get(key: string): unknown {
    return this.#newest.get(key);
  }

  get size(): number {
    return this.#newest.size;
  }

  *scan(prefix: string, page?: Page): Iterable<readonly [string, unknown]> {
    for (const key of this.#newest.startingWith(prefix, page)) {
      const value = this.#newest.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  count(prefix: string): number {
    return this.#newest.count(prefix);
  }

  changes(listener: (change: Change<unknown>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  until(key: string, predicate: (value: unknown) => boolean, ms: number): Promise<unknown> {
    return untilShown(this, key, predicate, ms);
  }

  caughtUp(): Promise<void> {
    return inTime(this.#caughtUp(), this.maxCatchUpMs, logIsLate('The log has not been read to its end in time.'));
  }

  ageMs(): number {
    return this.#behindSinceMs === undefined ? this.#following.ageMs() : performance.now() - this.#behindSinceMs;
  }

  /** Records that are known to be in the log and not taken yet. */
  lag(): number {
    return this.#following.lag();
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return [...this.#newest.unreadable];
  }

  async #caughtUp(): Promise<void> {
    for (;;) {
      const following = this.#following;
      try {
        await this.#shown;
        await this.#following.caughtUp();
        if (following === this.#following) return;
      } catch (error) {
        if (this.#failure || following === this.#following) throw this.#failure ?? error;
      }
    }
  }

  #read(): void {
    const newest = new NewestValues();
    const next: number[] = [];
    const changed = new Set<string>();
    let isShown = false;
    const following = this.log.follow({
      topics: [this.topic],
      from: 'beginning',
      take: (records) => {
        for (const record of records) {
          const { partition, offset, key } = record;
          next[partition] = offset + 1;
          if (isShown) this.#take(record);
          else newest.take(record);
          if (!isShown && offset >= (this.#next[partition] ?? 0)) changed.add(key);
        }
      },
      unreadable: (record) => {
        next[record.partition] = record.offset + 1;
        if (isShown) this.#refuse(record);
        else newest.refuse(record);
      },
      stopped: (error) => this.#stopped(following, error),
    });
    this.#following = following;
    const show = async (): Promise<void> => {
      await this.#toTheEnd(following);
      if (following !== this.#following) return;
      isShown = true;
      this.#next = next;
      this.#replace(newest, changed);
    };
    this.#shown = show();
    this.#shown.catch((error: Error) => following === this.#following && this.#fail(error));
  }

  /** Resolves when a reading has come to the end of the log. Where the log cannot say for a while where that is, it is asked again. */
  async #toTheEnd(following: Following): Promise<void> {
    for (;;) {
      try {
        return await following.caughtUp();
      } catch (error) {
        const mayPass = error instanceof TelemetryError && error.retryable && following === this.#following && !this.#failure;
        if (!mayPass) throw error;
      }
      await setTimeout(retryMs, undefined, { ref: false });
    }
  }

  #stopped(following: Following, error: Error): void {
    if (following !== this.#following) return;
    this.#behindSinceMs ??= performance.now() - following.ageMs();
    if (error instanceof LogGap) this.#read();
    else this.#fail(error);
  }

  /** It shows no more changes: it ages from now on. */
  #fail(error: Error): void {
    this.#failure = error;
    this.#behindSinceMs ??= performance.now();
    this.#ready.reject(error);
  }

  /** Shows what was read aside. Listeners hear of what differs since the view was ready, which is nothing at first. */
  #replace(newest: NewestValues, changed: ReadonlySet<string>): void {
    const before = this.#newest;
    this.#newest = newest;
    this.#behindSinceMs = undefined;
    const wasReady = this.#isReady;
    this.#isReady = true;
    this.#ready.resolve();
    if (!wasReady) return;
    for (const key of before.keys()) if (newest.get(key) === undefined) this.#tell({ key, value: null });
    for (const key of newest.keys()) {
      if (changed.has(key) || before.get(key) === undefined) this.#tell({ key, value: newest.get(key) });
    }
  }

  #take(record: StreamRecord): void {
    const { key, value } = record;
    this.#newest.take(record);
    this.#tell({ key, value });
  }

  #refuse(record: Unreadable): void {
    const { key } = record;
    const before = this.#newest.get(key);
    this.#newest.refuse(record);
    if (before !== undefined && this.#newest.get(key) === undefined) this.#tell({ key, value: null });
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
