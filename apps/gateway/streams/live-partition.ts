import { closeCodes } from '#edge';
import { LogGap, type Following, type History, type RecordLog, type StreamRecord } from '#log';
import { setTimeout as sleep } from 'node:timers/promises';
import { cursorText, type StreamPlace } from './cursor.js';
import { deliver, type Deliveries } from './deliveries.js';
import { Batch, type Mark } from './frames.js';
import type { StreamKind } from './stream-kind.js';
import type { StreamReader } from './stream-reader.js';
import { tickMs, type Ticking, type Ticks } from './ticks.js';

/** A log that was not heard for so long is away. */
const awayMs = 5_000;
/** After so long nobody can tell any more which keys are valid. */
const goneMs = 300_000;
const maxDelayS = 30;
const retryMs = 1_000;

/** Records of one batch: what it makes of them is in memory until its readers have it. */
const maxBatchBytes = 1024 * 1024;

interface Due {
  readonly batch: Batch;
  readonly bytes: number;
  readonly readers: readonly StreamReader[];
}

/** One stream of one source, with those who read it as it grows. */
class Channel implements Ticking {
  flushedMs = -Infinity;
  /** By what they want, so that those come together who want the same. */
  readonly #readers = new Map<string, Set<StreamReader>>();
  /** The same in their order, until it changes. */
  #inOrder: readonly StreamReader[] | undefined;
  /** Undefined while nothing waits. A list that waits for its first record grows old meanwhile, and all that it has held would then live until the next full garbage collection. */
  #records: StreamRecord[] | undefined;
  #bytes = 0;
  /** What is handed over, in this order. */
  readonly #due: Due[] = [];
  #isWorking = false;

  constructor(
    private readonly partition: LivePartition,
    private readonly orgId: string,
    private readonly deliveries: Deliveries,
  ) {}

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** Whether its readers have all that came. */
  get isIdle(): boolean {
    return !this.#records && this.#due.length === 0;
  }

  has(reader: StreamReader): boolean {
    return this.#readers.get(reader.filter.key)?.has(reader) === true;
  }

  /** The reader gets what comes from now on. */
  add(reader: StreamReader): void {
    this.#seal();
    this.#inOrder = undefined;
    const { key } = reader.filter;
    const readers = this.#readers.get(key);
    if (readers) readers.add(reader);
    else this.#readers.set(key, new Set([reader]));
  }

  delete(reader: StreamReader): void {
    this.#inOrder = undefined;
    const { key } = reader.filter;
    const readers = this.#readers.get(key);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(key);
  }

  push(record: StreamRecord): void {
    (this.#records ??= []).push(record);
    this.#bytes += record.bytes;
    if (!this.deliveries.wait(this.orgId, record.bytes))
      for (const reader of this.#all()) reader.close(closeCodes.tryLater, 'Connect again: more comes than so many readers can be sent.');
    if (this.#bytes > maxBatchBytes) this.#seal();
  }

  flush(): void {
    this.#seal();
    if (this.#isWorking || this.#due.length === 0) return;
    this.#isWorking = true;
    void this.deliveries.do(this.orgId, this.#deliver());
  }

  #seal(): void {
    if (!this.#records) return;
    this.#due.push({ batch: this.partition.batch(this.#records), bytes: this.#bytes, readers: this.#all() });
    [this.#records, this.#bytes] = [undefined, 0];
  }

  #all(): readonly StreamReader[] {
    return (this.#inOrder ??= [...this.#readers.values()].flatMap((readers) => [...readers]));
  }

  *#deliver(): Generator<void> {
    for (let due; (due = this.#due[0]); this.#due.shift()) {
      yield* deliver(due.batch, due.readers);
      for (const reader of due.readers) if (reader.isWaiting) this.partition.wait(reader);
      this.deliveries.wait(this.orgId, -due.bytes);
    }
    this.#isWorking = false;
  }
}

/** One partition of the records of a stream, followed from its end on while somebody watches one of its sources. */
export class LivePartition {
  /** All who read here, whether live or still behind. */
  readonly readers = new Set<StreamReader>();
  /** Slow readers, whose newest values wait until they have taken what was sent. */
  readonly #slow = new Set<StreamReader>();
  readonly #channels = new Map<string, Channel>();
  #following: Following;
  /** Behind the last record that was handed over. */
  #handed = 0;
  #history: History | undefined;
  isEnded = false;
  /** Resolves once it is known from which offset on records are handed over; false when the partition has ended before. */
  readonly opened: Promise<boolean>;
  #attempts = 0;
  #tellMs = 0;

  constructor(
    private readonly log: RecordLog,
    readonly kind: StreamKind,
    readonly partition: number,
    private readonly ticks: Ticks,
    private readonly deliveries: Deliveries,
  ) {
    this.#following = this.#follow();
    this.opened = this.#open();
  }

  /** The next record that is handed over stands there or behind. Known once `opened` has resolved. */
  get position(): number {
    return Math.max(this.#handed, this.#following.positions()[0]?.offset ?? 0);
  }

  /** Whether the log is heard. */
  get isHeard(): boolean {
    return this.#following.ageMs() < awayMs;
  }

  /** Resolves when everything has been handed over that was in the log at the call. Rejects `log_unavailable`. */
  caughtUp(): Promise<void> {
    return this.#following.caughtUp();
  }

  /** The name of the history before an offset. Known once `opened` has resolved. */
  historyOf(offset: number): string {
    return this.#history!(offset);
  }

  readonly mark: Mark = ({ offset, index }, timeMs) => {
    const { kind, partition } = this;
    const history = this.historyOf(index > 0 ? offset + 1 : offset);
    return cursorText({ history, letter: kind.letter, partition, offset, index, timeMs });
  };

  batch(records: readonly StreamRecord[]): Batch {
    return new Batch(this.kind, records, this.mark);
  }

  /** Has a reader get what comes from now on; one with a place must have all before `position`. */
  goLive(reader: StreamReader): void {
    if (!this.readers.has(reader)) return;
    let channel = this.#channels.get(reader.key);
    if (!channel) this.#channels.set(reader.key, (channel = new Channel(this, reader.caller.orgId, this.deliveries)));
    channel.add(reader);
  }

  /** Where a reader is that gets all that comes; undefined for one that does not yet, or is between two places. */
  placeOf(reader: StreamReader): StreamPlace | undefined {
    const channel = this.#channels.get(reader.key);
    if (!channel?.has(reader)) return undefined;
    if (!channel.isIdle) return reader.isAmidst ? undefined : reader.place;
    const { position } = this;
    return reader.place && reader.place.offset > position ? reader.place : { offset: position, index: 0 };
  }

  leave(reader: StreamReader): void {
    this.readers.delete(reader);
    this.#slow.delete(reader);
    const channel = this.#channels.get(reader.key);
    channel?.delete(reader);
    if (channel?.isEmpty) this.#channels.delete(reader.key);
  }

  /** Nobody watches any more. */
  end(): void {
    this.isEnded = true;
    void this.#following.stop();
  }

  /** Sends the reader what waits for it as soon as it has taken enough. */
  wait(reader: StreamReader): void {
    if (this.#slow.size === 0) setTimeout(() => this.#lookAtSlow(), tickMs).unref();
    this.#slow.add(reader);
  }

  #lookAtSlow(): void {
    const slow = [...this.#slow];
    this.#slow.clear();
    for (const reader of slow)
      this.deliveries.later(reader.caller.orgId, () => {
        reader.catchUp();
        if (reader.isWaiting) this.wait(reader);
      });
  }

  /** Tells the readers while the log is away. @param nowMs monotonic. */
  look(nowMs: number): void {
    const silentMs = this.#following.ageMs();
    if (silentMs >= goneMs) this.#giveUp();
    if (silentMs < awayMs) this.#attempts = 0;
    else if (this.#attempts === 0 || nowMs >= this.#tellMs) {
      const delayS = Math.min(maxDelayS, 2 ** this.#attempts++);
      this.#tellMs = nowMs + 1000 * delayS;
      const message = JSON.stringify({ type: 'gateway_reconnecting', attempt: this.#attempts, delay_s: delayS });
      for (const reader of this.readers) reader.outlet.message(message);
    }
  }

  #follow(): Following {
    const { kind, partition } = this;
    return this.log.follow({
      topics: [kind.topic],
      from: 'end',
      partitions: [partition],
      take: (records) => this.#take(records),
      // The projections park it.
      unreadable: () => undefined,
      stopped: (error) => this.#stopped(error),
    });
  }

  async #open(): Promise<boolean> {
    while (!this.isEnded) {
      try {
        await this.#following.caughtUp();
        this.#history = await this.log.history(this.kind.topic);
        return !this.isEnded;
      } catch {
        await sleep(retryMs, undefined, { ref: false });
      }
    }
    return false;
  }

  #take(records: readonly StreamRecord[]): void {
    const { isMerged } = this.kind;
    this.#handed = records.at(-1)!.offset + 1;
    for (const record of records) {
      const channel = record.value === null ? undefined : this.#channels.get(record.key);
      channel?.push(record);
      if (channel) this.ticks.touch(channel, !isMerged);
    }
  }

  #stopped(error: Error): void {
    if (this.isEnded) return;
    this.isEnded = true;
    // Readers with cursors notice the gap when they come back.
    if (error instanceof LogGap)
      for (const reader of this.readers) reader.close(closeCodes.tryLater, 'Connect again: records were deleted.');
    else this.#giveUp();
  }

  #giveUp(): void {
    for (const reader of this.readers) reader.close(closeCodes.internal, 'The log cannot be read.');
  }
}
