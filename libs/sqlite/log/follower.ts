import { setTimeout } from 'node:timers/promises';
import type { AnyTopic, StreamRecord, Unreadable } from '#log';
import { TelemetryError } from '#model';
import { UnknownSchema, type AvroCodec } from '#topics';
import { unpack, type Chunk, type Raw } from './chunk.js';
import { LogRecord } from './log-record.js';
import type { ReadRequest } from './log-file.js';
import type { Tail } from './tail.js';

/** What a follower reads from. */
export interface Followed {
  readonly codec: AvroCodec;
  readonly tail: Tail;
  /** Offset of the next record; what is before it is durable. */
  readonly head: number;
  read(request: ReadRequest): Promise<Chunk>;
}

/** Who gets the records. */
export interface Receiver {
  /** False for a record that it has already. */
  wants(topic: string, partition: number, offset: number): boolean;
  /** A rejection gives the same records again, after a pause. What returns nothing is done at once. */
  take(records: readonly StreamRecord[]): Promise<void> | void;
  unreadable(record: Unreadable): Promise<void> | void;
  /** The log cannot be read any further. */
  failed(error: Error): void;
}

const batchBytes = 1 << 20;
const pauseMs = { first: 100, longest: 5_000 };

/** Goes through the log from an offset on, without an end: from the file while it is behind, from the tail once it keeps up. */
export class Follower {
  readonly #topics: ReadonlyMap<string, AnyTopic>;
  readonly #names: Omit<ReadRequest, 'from'>;
  readonly #stopping = new AbortController();
  /** Read from the file and not yet taken. */
  #chunk: Raw[] = [];
  #chunkEnd = 0;
  #coming: { readonly from: number; readonly chunk: Promise<Chunk> } | undefined;
  #position: number;
  #busy: Promise<void> | undefined;
  /** Since when there has been something that was not taken. */
  #behindSinceMs: number | undefined = performance.now();
  #why: Error = new TelemetryError('log_unavailable', 'The log is not read any more.', { retryAfterS: 1 });
  #arrivals: { offset: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  /**
   * @param position offset of the next record that the receiver has not been given.
   * @param asBytes hands over bytes instead of values.
   */
  constructor(
    private readonly log: Followed,
    topics: readonly AnyTopic[],
    position: number,
    private readonly receiver: Receiver,
    private readonly asBytes = false,
  ) {
    this.#position = position;
    this.#topics = new Map(topics.map((topic) => [topic.name, topic]));
    const names = (cleanup: AnyTopic['cleanup']): string[] => topics.filter((it) => it.cleanup === cleanup).map((it) => it.name);
    this.#names = { kept: names('delete'), compacted: names('compact') };
  }

  /** Everything before this offset has been handed over, or is of no interest. */
  get position(): number {
    return this.#position;
  }

  /** Hands over what there is; a receiver that is not busy has got it, or its first part, when this returns. */
  wake(): void {
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

  /** Resolves once the receiver has taken everything before `offset`. Rejects when the log is not read so far. */
  reached(offset: number): Promise<void> {
    if (this.#position >= offset && !this.#busy) return Promise.resolve();
    if (this.#stopping.signal.aborted) return Promise.reject(this.#why);
    return new Promise((resolve, reject) => this.#arrivals.push({ offset, resolve, reject }));
  }

  /** Resolves when what the receiver is doing has ended; it gets nothing afterwards. */
  async stop(): Promise<void> {
    this.#end();
    await this.#busy;
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
    const [there, still] = [
      this.#arrivals.filter((it) => it.offset <= this.#position),
      this.#arrivals.filter((it) => it.offset > this.#position),
    ];
    this.#arrivals = still;
    for (const { resolve } of there) resolve();
  }

  #fetch(): Promise<void> {
    return this.#untilDone(async () => {
      const chunk = await this.#read();
      if (!chunk) return;
      this.#chunk = unpack(chunk).filter((it) => this.receiver.wants(it.topic, it.partition, it.offset));
      this.#chunkEnd = chunk.next;
      if (this.#chunk.length === 0) this.#position = chunk.next;
    });
  }

  /** Nothing when the log is damaged there. Meanwhile the thread reads what comes after it. */
  async #read(): Promise<Chunk | undefined> {
    const position = this.#position;
    const coming = this.#coming?.from === position ? this.#coming.chunk : this.#request(position);
    this.#coming = undefined;
    try {
      const chunk = await coming;
      if (chunk.next < this.log.tail.from) this.#coming = { from: chunk.next, chunk: this.#request(chunk.next) };
      return chunk;
    } catch (cause) {
      if (!(cause instanceof TelemetryError) || cause.code !== 'log_corrupt') throw cause;
      this.fail(cause);
      return undefined;
    }
  }

  #request(from: number): Promise<Chunk> {
    const chunk = this.log.read({ from, ...this.#names });
    // Whoever waits for it hears of a failure; after a stop nobody does.
    chunk.catch(() => undefined);
    return chunk;
  }

  #handTail(): Promise<void> | void {
    const records: StreamRecord[] = [];
    let bytes = 0;
    let next = this.log.head;
    for (const record of this.log.tail.since(this.#position)) {
      if (!this.#topics.has(record.topic.name) || !this.receiver.wants(record.topic.name, record.partition, record.offset)) continue;
      if (bytes >= batchBytes) {
        next = record.offset;
        break;
      }
      records.push(this.asBytes ? LogRecord.asBytes(record, this.log.codec) : record);
      bytes += record.bytes;
    }
    this.#position = next;
    return this.#hand(records);
  }

  #handChunk(): Promise<void> | void {
    const records: StreamRecord[] = [];
    for (let bytes = 0; bytes < batchBytes && records.length < this.#chunk.length; bytes += records.at(-1)!.bytes) {
      const raw = this.#chunk[records.length]!;
      try {
        const topic = this.#topics.get(raw.topic)!;
        records.push(this.asBytes ? LogRecord.raw(topic, raw) : LogRecord.decode(this.log.codec, topic, raw));
      } catch (cause) {
        // Those before it go first; then it comes again, as the first one.
        if (records.length === 0) return this.#refuse(raw, cause as Error);
        break;
      }
    }
    this.#advance(records.length);
    return this.#hand(records);
  }

  #advance(records: number): void {
    const last = this.#chunk[records - 1]!;
    this.#chunk = this.#chunk.slice(records);
    this.#position = this.#chunk.length > 0 ? last.offset + 1 : this.#chunkEnd;
  }

  #hand(records: readonly StreamRecord[]): Promise<void> | void {
    if (records.length === 0) return undefined;
    const done = this.receiver.take(records);
    return (
      done &&
      this.#untilDone(
        () => done,
        () => this.receiver.take(records),
      )
    );
  }

  async #refuse(raw: Raw, reason: Error): Promise<void> {
    const topic = this.#topics.get(raw.topic)!;
    const why = reason instanceof UnknownSchema ? await this.#learn(topic, reason) : reason;
    if (!why) return;
    const { partition, offset, key, headers, value } = raw;
    this.#advance(1);
    await this.#untilDone(() => this.receiver.unreadable({ topic, partition, offset, key, bytes: value!, headers, reason: why.message }));
  }

  async #learn(topic: AnyTopic, unknown: UnknownSchema): Promise<Error | undefined> {
    try {
      await this.log.codec.learn(topic, unknown.schemaId);
      return undefined;
    } catch (cause) {
      return cause as Error;
    }
  }

  /** Tries again, after ever longer pauses, until it works or until it is told to stop. */
  async #untilDone(work: () => Promise<void> | void, again = work): Promise<void> {
    let attempt = work;
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.longest)) {
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

  /** Stops here for good. */
  fail(error: Error): void {
    this.#why = error;
    this.#end();
    this.receiver.failed(error);
  }

  #end(): void {
    this.#stopping.abort();
    if (!this.#busy) this.#announce();
    for (const { reject } of this.#arrivals) reject(this.#why);
    this.#arrivals = [];
  }
}
