import type { KafkaMessage } from 'kafkajs';
import type { AnyTopic, StreamRecord } from '#log';
import { UnknownSchema, UnreadableSchema } from '#topics';
import { failing, reasonOf, untilDone, type Failure } from '../trouble.js';
import { KafkaRecord, refused, type RecordCodec, type Refused } from './kafka-record.js';

/** Who gets what a lane carries. A rejection gives the same again, after a pause. */
export interface Receiver {
  take(records: readonly StreamRecord[]): Promise<void> | void;
  unreadable(record: Refused): Promise<void> | void;
}

export interface LaneOptions {
  readonly topic: AnyTopic;
  readonly partition: number;
  /** Offset of the first record that is wanted. */
  readonly from: number;
  readonly codec: RecordCodec;
  /** Hands over bytes instead of values. */
  readonly asBytes?: boolean | undefined;
  readonly receiver: Receiver;
  /** Aborted when nothing more is to be handed over. */
  readonly ended: AbortSignal;
  /** Called when something has been taken. */
  readonly progress: () => void;
}

/** What one call of a handler is given, about. */
const pieceBytes = 1 << 20;

/** One partition of one assignment: what was fetched waits here for the receiver, who is called again when it has done. */
export class Lane {
  /** The group goes on from here when it gets the partition anew. */
  committed: number;
  #waiting: KafkaMessage[] = [];
  #waitingBytes = 0;
  #next: number;
  #taken: number;
  /** Offset behind the last record that the receiver has had. */
  #given: number;
  #running: Promise<void> | undefined;
  #failure: Failure | undefined;

  constructor(private readonly options: LaneOptions) {
    this.#next = this.#taken = this.#given = this.committed = options.from;
  }

  /** Offset of the next record to fetch. */
  get next(): number {
    return this.#next;
  }

  /** Everything before this offset has been taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Fetched and not yet handed over. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Why it waits for a schema; undefined when it does not. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** The offset to commit in place of `offset`: behind the last record it also covers the marks of transactions, which no receiver commits. */
  behind(offset: number): number {
    return offset === this.#given ? Math.max(offset, this.#taken) : offset;
  }

  /** Resolves when the receiver is not at work. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** @param next offset to go on with afterwards. */
  push(messages: readonly KafkaMessage[], next: number): void {
    for (const message of messages) {
      this.#waiting.push(message);
      this.#waitingBytes += sizeOf(message);
    }
    this.skip(next);
  }

  /** Goes on at this offset: the log holds no further record for the handler before it. */
  skip(next: number): void {
    this.#next = Math.max(this.#next, next);
    if (this.#running) return;
    if (this.#waiting.length > 0) this.#running = this.#run();
    else this.#rest();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.options.ended.aborted) {
      const { records, unreadable } = await this.#piece();
      if (records.length > 0) await this.#hand(records.at(-1)!, () => this.options.receiver.take(records));
      if (unreadable) await this.#hand(unreadable, () => this.options.receiver.unreadable(unreadable));
    }
    this.#running = undefined;
    this.#rest();
  }

  #rest(): void {
    if (!this.options.ended.aborted) this.#taken = this.#next;
    this.options.progress();
  }

  async #hand(last: { readonly offset: number }, work: () => Promise<void> | void): Promise<void> {
    await untilDone(this.options.ended, async () => work());
    if (!this.options.ended.aborted) {
      this.#given = last.offset + 1;
      if (this.#waiting[0]) this.#taken = Number(this.#waiting[0].offset);
    }
    this.options.progress();
  }

  /** The records of the next call, and the one after them if it cannot be read. */
  async #piece(): Promise<{ readonly records: readonly StreamRecord[]; readonly unreadable: Refused | undefined }> {
    const { codec, topic, partition, asBytes } = this.options;
    const records: StreamRecord[] = [];
    let [n, bytes] = [0, 0];
    let unreadable: Refused | undefined;
    while (n < this.#waiting.length && bytes < pieceBytes && !unreadable) {
      const message = this.#waiting[n++]!;
      bytes += sizeOf(message);
      try {
        records.push(asBytes ? KafkaRecord.asBytes(topic, partition, message) : KafkaRecord.decode(codec, topic, partition, message));
      } catch (error) {
        const reason = error instanceof UnknownSchema ? await this.#learn(error) : reasonOf(error);
        if (reason !== undefined) unreadable = refused(topic, partition, message, reason);
        else bytes -= sizeOf(this.#waiting[--n]!);
        if (this.options.ended.aborted) break;
      }
    }
    this.#waiting = this.#waiting.slice(n);
    this.#waitingBytes -= bytes;
    return { records, unreadable };
  }

  /** Why the schema can never be read; undefined when it is known now. For any other answer than these two the partition waits. */
  async #learn({ schemaId }: UnknownSchema): Promise<string | undefined> {
    const reason = await untilDone(this.options.ended, async () => {
      try {
        await this.options.codec.learn(this.options.topic, schemaId);
        return undefined;
      } catch (error) {
        if (error instanceof UnreadableSchema) return reasonOf(error);
        this.#failure = failing(error, this.#failure);
        throw error;
      }
    });
    this.#failure = undefined;
    return reason;
  }
}

/** Bytes that may wait in all lanes of one reader together, and bytes that may wait in a lane whatever the others hold. */
const maxWaitingBytes = 16 << 20;
const minLaneBytes = 64 << 10;

/** Bytes that may wait in one lane while `waitingBytes` wait in all: as many as are left, so one busy lane gets half of all, and many get about the same each. */
export const laneRoom = (waitingBytes: number): number => Math.max(minLaneBytes, maxWaitingBytes - waitingBytes);

const overheadBytes = 100;

function sizeOf({ key, value, headers = {} }: KafkaMessage): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0) + overheadBytes;
  for (const [name, values] of Object.entries(headers)) for (const it of [values ?? []].flat()) bytes += name.length + it.length;
  return bytes;
}
