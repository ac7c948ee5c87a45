import { setImmediate, setTimeout } from 'node:timers/promises';
import type { AnyTopic, FollowOptions, StreamRecord } from '#log';
import { TelemetryError } from '#model';
import { UnknownSchema, type AvroCodec } from '#topics';
import { recordsOf, type Chunk, type ChunkRequest, type RawRecord } from './frame.js';
import { LogRecord } from './log-record.js';
import type { Tail } from './tail.js';

/** What a reader that follows the growing log needs of it. */
export interface Followed {
  readonly codec: AvroCodec;
  readonly tail: Tail;
  /** Offset at which the log begins: records before it may be gone. */
  readonly begins: number;
  /** Offset of the next record; what is before it is durable. */
  readonly head: number;
  /** Reads some records that are durable. */
  read(request: Omit<ChunkRequest, 'to'>): Promise<Chunk>;
  /** Milliseconds since the log has ended; 0 while it lives. */
  ageMs(): number;
  /** Call it when a reading ends: memory then holds nothing for it. */
  left(reading: Reading): void;
}

/** Records that were appended together, and are in memory. */
export interface Fresh {
  readonly first: number;
  /** The offset after the last one. */
  readonly end: number;
  readonly topics: ReadonlySet<string>;
}

/** A reader that follows the growing log. */
export interface Reading {
  /** Everything before this offset has been handed over, or is of no interest: memory need not hold it for this reading. */
  readonly position: number;
  /** @param fresh what was appended last, where that is known. */
  wake(fresh?: Fresh): void;
  stop(): Promise<void>;
}

/** Which records a follower hands over, and what takes them. */
interface Receiver extends Pick<FollowOptions, 'topics' | 'to' | 'asBytes' | 'take' | 'unreadable' | 'stopped'> {
  /** False for a record that the receiver has already, or has no use for. */
  wants(topic: string, partition: number, offset: number): boolean;
}

/**
 * What a receiver is given at a time: some milliseconds of work, before the event loop turns. With a quarter of the bytes, large bodies cost a fifth more
 * CPU, because each partition gets its records in more pieces.
 */
const batchBytes = 1 << 20;
const batchRecords = 512;
const pauseMs = { first: 100, max: 5_000 };

/** Hands over the records of a log from an offset on: from the file while it is behind, from the tail in memory once it keeps up. */
export class Follower {
  readonly #topics: ReadonlyMap<string, AnyTopic>;
  readonly #names: Omit<ChunkRequest, 'from' | 'to'>;
  readonly #stopping = new AbortController();
  /** Records that were read from the file and are not taken yet. */
  #chunk: RawRecord[] = [];
  #chunkEnd = 0;
  /** The chunk after this one, which the log's thread reads while the receiver is busy. */
  #coming: { readonly from: number; readonly chunk: Promise<Chunk> } | undefined;
  #position: number;
  #busy: Promise<void> | undefined;
  /** When the receiver fell behind, on the monotonic clock; undefined while it has taken everything. */
  #behindSinceMs: number | undefined = performance.now();
  #why: Error = new TelemetryError('log_unavailable', 'The log is not read any more.', { retryAfterS: 1 });
  #arrivals: { offset: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  /** @param position offset of the next record that the receiver has not been given. */
  constructor(
    private readonly log: Followed,
    position: number,
    private readonly receiver: Receiver,
  ) {
    const { topics } = receiver;
    this.#position = position;
    this.#topics = new Map(topics.map((topic) => [topic.name, topic]));
    const names = (cleanup: AnyTopic['cleanup']): string[] => topics.filter((it) => it.cleanup === cleanup).map((it) => it.name);
    this.#names = { kept: names('delete'), compacted: names('compact') };
  }

  /** Everything before this offset has been handed over, or is of no interest. */
  get position(): number {
    return this.#position;
  }

  /** Hands over what there is. An idle receiver has been given all of it, or the first batch, when `wake` returns. */
  wake(fresh?: Fresh): void {
    if (fresh && this.#position === fresh.first && !this.#busy && !this.#wantsAny(fresh.topics)) this.#position = fresh.end;
    while (!this.#busy && !this.#stopping.signal.aborted) {
      const step = this.#step();
      this.#behindSinceMs = step === 'idle' ? undefined : (this.#behindSinceMs ?? performance.now());
      if (step === 'idle') return;
      if (step) this.#busy = step.then(() => this.#again());
    }
  }

  /** Milliseconds since the receiver had taken everything that was in the log. */
  ageMs(): number {
    return this.#behindSinceMs === undefined ? 0 : performance.now() - this.#behindSinceMs;
  }

  /** Records before `end` that wait for the receiver. What memory no longer holds counts in full: the receiver may want all of it. */
  waiting(end = Infinity): number {
    const records = Math.max(0, Math.min(end, this.log.tail.from) - this.#position);
    return records + this.waitingInMemory().length;
  }

  /** The records that wait for the receiver and that memory still holds. */
  waitingInMemory(): readonly StreamRecord[] {
    const records: StreamRecord[] = [];
    this.log.tail.each(this.#position, (record) => {
      if (this.#isWanted(record)) records.push(record);
      return true;
    });
    return records;
  }

  /** Resolves once the receiver has taken everything before `offset`. Rejects when reading ends before that. */
  reached(offset: number): Promise<void> {
    if (this.#position >= offset && !this.#busy) return Promise.resolve();
    if (this.#stopping.signal.aborted) return Promise.reject(this.#why);
    return new Promise((resolve, reject) => this.#arrivals.push({ offset, resolve, reject }));
  }

  /** Resolves when the running `take` has settled; nothing is handed over afterwards. */
  async stop(): Promise<void> {
    this.#end();
    await this.#busy;
  }

  /** Ends, and tells the receiver why. */
  fail(error: Error): void {
    if (this.#stopping.signal.aborted) return;
    this.#why = error;
    this.#end();
    this.receiver.stopped(error);
  }

  #again(): void {
    this.#busy = undefined;
    this.wake();
  }

  #step(): Promise<void> | void | 'idle' {
    this.#announce();
    if (this.#chunk.length > 0) return this.#handChunk();
    if (this.#position >= this.log.head) return 'idle';
    return this.#position < this.log.tail.from ? this.#fetch() : this.#handTail();
  }

  #announce(): void {
    if (this.#arrivals.length === 0) return;
    for (const { offset, resolve } of this.#arrivals) if (offset <= this.#position) resolve();
    this.#arrivals = this.#arrivals.filter(({ offset }) => offset > this.#position);
  }

  #wantsAny(topics: ReadonlySet<string>): boolean {
    for (const name of topics) if (this.#topics.has(name)) return true;
    return false;
  }

  #isWanted({ topic, partition, offset }: StreamRecord): boolean {
    return this.#topics.has(topic.name) && this.receiver.wants(topic.name, partition, offset);
  }

  #fetch(): Promise<void> {
    return this.#untilDone(async () => {
      const chunk = await this.#read();
      if (!chunk) return;
      this.#chunk = recordsOf(chunk).filter((it) => this.receiver.wants(it.topic, it.partition, it.offset));
      this.#chunkEnd = chunk.next;
      if (this.#chunk.length === 0) this.#position = chunk.next;
    });
  }

  /** Undefined when the log can be read no further. A reading with an end gives up at the first failure; other readings try again. */
  async #read(): Promise<Chunk | undefined> {
    const position = this.#position;
    const coming = this.#coming?.from === position ? this.#coming.chunk : this.#request(position);
    this.#coming = undefined;
    try {
      const chunk = await coming;
      if (chunk.next < this.log.tail.from) this.#coming = { from: chunk.next, chunk: this.#request(chunk.next) };
      return chunk;
    } catch (cause) {
      const isForGood = this.receiver.to === 'end' || (cause instanceof TelemetryError && cause.code === 'log_corrupt');
      if (!isForGood) throw cause;
      this.fail(cause as Error);
      return undefined;
    }
  }

  #request(from: number): Promise<Chunk> {
    const chunk = this.log.read({ from, ...this.#names });
    // A failure is handled where the chunk is awaited; after a stop nobody awaits it.
    chunk.catch(() => undefined);
    return chunk;
  }

  #handTail(): Promise<void> | void {
    const records: StreamRecord[] = [];
    let bytes = 0;
    let next = this.log.head;
    this.log.tail.each(this.#position, (record) => {
      if (!this.#isWanted(record)) return true;
      if (bytes >= batchBytes || records.length === batchRecords) {
        next = record.offset;
        return false;
      }
      records.push(this.receiver.asBytes ? LogRecord.asBytes(record, this.log.codec) : record);
      bytes += record.bytes;
      return true;
    });
    this.#position = next;
    const done = this.#hand(records);
    return next < this.log.head ? givingWay(done) : done;
  }

  #handChunk(): Promise<void> | void {
    const records: StreamRecord[] = [];
    const most = Math.min(batchRecords, this.#chunk.length);
    for (let bytes = 0; bytes < batchBytes && records.length < most; bytes += records.at(-1)!.bytes) {
      const raw = this.#chunk[records.length]!;
      try {
        const topic = this.#topics.get(raw.topic)!;
        const { key, value } = raw;
        records.push(LogRecord.read(topic, raw, this.receiver.asBytes ? value : value && this.log.codec.decode(topic, key, value)));
      } catch (cause) {
        // Hand over the records before the unreadable one; the next step begins with it.
        if (records.length === 0) return this.#refuse(raw, cause as Error);
        break;
      }
    }
    this.#advance(records.length);
    return givingWay(this.#hand(records));
  }

  #advance(records: number): void {
    const last = this.#chunk[records - 1]!;
    this.#chunk = this.#chunk.slice(records);
    this.#position = this.#chunk.length > 0 ? last.offset + 1 : this.#chunkEnd;
  }

  #hand(records: readonly StreamRecord[]): Promise<void> | void {
    if (records.length === 0) return undefined;
    const take = (): Promise<void> | void => this.receiver.take(records);
    try {
      const done = take();
      return done && this.#untilDone(() => done, take);
    } catch (error) {
      return this.#untilDone(() => Promise.reject(error), take);
    }
  }

  async #refuse(raw: RawRecord, reason: Error): Promise<void> {
    const topic = this.#topics.get(raw.topic)!;
    const unlearned = (error: Error): Error => error;
    const why = reason instanceof UnknownSchema ? await this.log.codec.learn(topic, reason.schemaId).catch(unlearned) : reason;
    // The schema was learned, so the next step decodes the record again.
    if (!why) return;
    const { partition, offset, key, headers, value } = raw;
    this.#advance(1);
    await this.#untilDone(() => this.receiver.unreadable({ topic, partition, offset, key, bytes: value!, headers, reason: why.message }));
  }

  /** Tries `work`, and then `again` after ever longer pauses, until it succeeds or the follower is stopped. */
  async #untilDone(work: () => Promise<void> | void, again = work): Promise<void> {
    let attempt = work;
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.max)) {
      try {
        await attempt();
        return;
      } catch {
        attempt = again;
      }
      await setTimeout(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
    }
  }

  #end(): void {
    this.#stopping.abort();
    if (!this.#busy) this.#announce();
    for (const { reject } of this.#arrivals) reject(this.#why);
    this.#arrivals = [];
  }
}

/** Resolves after `done`, in a later turn of the event loop. */
async function givingWay(done: Promise<void> | void): Promise<void> {
  await done;
  await setImmediate();
}
