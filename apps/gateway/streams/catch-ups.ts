import { setTimeout as sleep } from 'node:timers/promises';
import { closeCodes } from '#edge';
import { LogGap, type Following, type RecordLog, type StreamRecord } from '#log';
import { deliver, type Deliveries } from './deliveries.js';
import type { LivePartition } from './live-partition.js';
import type { Batch } from './frames.js';
import { slowBytes, type StreamReader } from './stream-reader.js';

/** Reads of the log at the same time; readers of one partition share one. */
const maxReads = 8;
/** How long a read waits for readers that do not keep up with it. */
const patienceMs = 1_000;
const lookMs = 10;
const checkMs = 50;
const retryMs = 1_000;

/** What becomes of readers that a read does not bring to the end of the log. */
export interface Left {
  /** Something is gone that the reader has not had. */
  gap(reader: StreamReader): void;
  /** The reader has much unsent: it goes on when it has taken that. */
  slow(reader: StreamReader): void;
}

/** Reads the log for readers who have come back, until they have all that they missed. */
export class CatchUps {
  readonly #reads = new Map<LivePartition, CatchUp>();
  /** In the order in which partitions have their turn. */
  readonly #waiting = new Map<LivePartition, Set<StreamReader>>();

  constructor(
    private readonly log: RecordLog,
    private readonly deliveries: Deliveries,
    private readonly left: Left,
  ) {}

  get reads(): number {
    return this.#reads.size;
  }

  /** @param reader has a place before the position of the partition. */
  join(partition: LivePartition, reader: StreamReader): void {
    if (this.#reads.get(partition)?.take(reader)) return;
    const waiting = this.#waiting.get(partition);
    if (waiting) waiting.add(reader);
    else this.#waiting.set(partition, new Set([reader]));
    this.#next();
  }

  leave(partition: LivePartition, reader: StreamReader): void {
    this.#reads.get(partition)?.leave(reader);
    const waiting = this.#waiting.get(partition);
    waiting?.delete(reader);
    if (waiting?.size === 0) this.#waiting.delete(partition);
  }

  #next(): void {
    for (const [partition, readers] of this.#waiting) {
      if (this.#reads.size >= maxReads) return;
      if (this.#reads.has(partition)) continue;
      this.#waiting.delete(partition);
      const ended = (): void => {
        this.#reads.delete(partition);
        this.#next();
      };
      const read = new CatchUp(this.log, this.deliveries, partition, readers, this.left, ended);
      if (!read.isEnded) this.#reads.set(partition, read);
    }
  }
}

/** One read of a partition for readers who are behind. */
class CatchUp {
  /** `follow` may call `take` before it returns. */
  #following: Following | undefined;
  /** Everything before has been handed over. */
  #handed: number;
  /** What was handed over last is on its way to the readers. */
  #delivered: Promise<unknown> | undefined;
  isEnded = false;

  constructor(
    log: RecordLog,
    private readonly deliveries: Deliveries,
    private readonly partition: LivePartition,
    private readonly readers: Set<StreamReader>,
    private readonly left: Left,
    private readonly ended: () => void,
  ) {
    const offset = Math.min(...Array.from(readers, ({ place }) => place!.offset));
    this.#handed = offset;
    const { kind } = partition;
    this.#following = log.follow({
      topics: [kind.topic],
      from: [{ topic: kind.topic.name, partition: partition.partition, offset }],
      take: (records) => this.#take(records),
      unreadable: () => undefined,
      stopped: (error) => void this.#stopped(error),
    });
    if (this.isEnded) void this.#following.stop();
    else void this.#check();
  }

  /** False for a reader that needs what was read already. */
  take(reader: StreamReader): boolean {
    if (this.isEnded || reader.place!.offset < this.#handed) return false;
    this.readers.add(reader);
    return true;
  }

  leave(reader: StreamReader): void {
    this.readers.delete(reader);
    if (this.readers.size === 0) this.#end();
  }

  #take(records: readonly StreamRecord[]): Promise<void> | void {
    const readers = Map.groupBy(this.readers, ({ key }) => key);
    const wanted = records.filter(({ key, value }) => value !== null && readers.has(key));
    this.#handed = records.at(-1)!.offset + 1;
    const deliveries = Array.from(
      Map.groupBy(wanted, ({ key }) => key),
      ([key, its]) => this.#deliver(this.partition.batch(its), readers.get(key)!),
    );
    return this.#goOn(deliveries.filter((one) => one !== undefined));
  }

  #deliver(batch: Batch, readers: readonly StreamReader[]): Promise<void> | void {
    const byFilter = Map.groupBy(readers, ({ filter }) => filter.key);
    return this.deliveries.do(readers[0]!.caller.orgId, deliver(batch, [...byFilter.values()].flat()));
  }

  #goOn(deliveries: readonly Promise<void>[]): Promise<void> | void {
    if (deliveries.length > 0) {
      this.#delivered = Promise.all(deliveries);
      return this.#delivered.then(() => {
        this.#delivered = undefined;
        return this.#goOn([]);
      });
    }
    this.#goLive();
    return this.#slow().length > 0 ? this.#room() : undefined;
  }

  /** Once nothing is left that only this read can bring, all readers go on with the live partition. */
  #goLive(): void {
    const offset = Math.max(this.#handed, this.#following?.positions()[0]?.offset ?? 0);
    if (this.isEnded || this.#delivered || offset < this.partition.position) return;
    for (const reader of this.readers) {
      if (reader.place!.offset < offset) reader.place = { offset, index: 0 };
      this.partition.goLive(reader);
    }
    this.#end();
  }

  /** Without new records `#take` is not called, so look every 50 ms whether the readers may go live. */
  async #check(): Promise<void> {
    while (!this.isEnded) {
      try {
        await this.#following!.caughtUp();
        this.#goLive();
        await sleep(checkMs, undefined, { ref: false });
      } catch {
        await sleep(retryMs, undefined, { ref: false });
      }
    }
  }

  #slow(): readonly StreamReader[] {
    return [...this.readers].filter(({ outlet }) => outlet.unsentBytes > slowBytes);
  }

  /** Waits for readers that have much unsent, and leaves those that still have. */
  async #room(): Promise<void> {
    const endMs = performance.now() + patienceMs;
    while (!this.isEnded && this.#slow().length > 0 && performance.now() < endMs) await sleep(lookMs, undefined, { ref: false });
    for (const reader of this.#slow()) {
      this.leave(reader);
      this.left.slow(reader);
    }
  }

  async #stopped(error: Error): Promise<void> {
    if (this.isEnded) return;
    await this.#delivered;
    const readers = [...this.readers];
    this.#end();
    for (const reader of readers)
      if (error instanceof LogGap) this.left.gap(reader);
      else reader.close(closeCodes.internal, 'The log cannot be read.');
  }

  #end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.readers.clear();
    void this.#following?.stop();
    this.ended();
  }
}
