import type { KafkaMessage } from 'kafkajs';
import type { AnyTopic, StreamRecord } from '#log';
import { TelemetryError } from '#model';
import { UnknownSchema, type AvroCodec } from '#topics';
import { KafkaRecord, refused, type Refused } from '../kafka-record.js';
import { reasonOf, untilDone } from '../trouble.js';

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
  readonly codec: AvroCodec;
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
  /** Whether no more is fetched for now. */
  isPaused = false;
  /** The group goes on from here when it gets the partition anew. */
  committed: number;
  #waiting: KafkaMessage[] = [];
  #waitingBytes = 0;
  #next: number;
  #taken: number;
  #doubted: number | undefined;
  #running: Promise<void> | undefined;

  constructor(private readonly options: LaneOptions) {
    this.#next = this.#taken = this.committed = options.from;
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

  /** Resolves when the receiver is not at work. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /**
   * Whether what was fetched from an offset is what comes next. A fetch of an earlier assignment may not be, and is to be done again. Where
   * the partition has nothing for us in between, as when retention was faster, the second fetch begins at the same place.
   */
  accepts(fetchedFrom: number): boolean {
    if (fetchedFrom === this.#next || fetchedFrom === this.#doubted) return true;
    this.#doubted = fetchedFrom;
    return false;
  }

  /** @param next offset to go on with afterwards. */
  push(messages: readonly KafkaMessage[], next: number): void {
    for (const message of messages) {
      this.#waiting.push(message);
      this.#waitingBytes += sizeOf(message);
    }
    this.skip(next);
  }

  /** Up to there the log has nothing more for us. */
  skip(next: number): void {
    this.#next = Math.max(this.#next, next);
    if (this.#running) return;
    if (this.#waiting.length > 0) this.#running = this.#run();
    else this.#rest();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.options.ended.aborted) {
      const { records, unreadable } = await this.#piece();
      if (records.length > 0) await this.#hand(() => this.options.receiver.take(records));
      if (unreadable) await this.#hand(() => this.options.receiver.unreadable(unreadable));
    }
    this.#running = undefined;
    this.#rest();
  }

  #rest(): void {
    if (!this.options.ended.aborted) this.#taken = this.#next;
    this.options.progress();
  }

  async #hand(work: () => Promise<void> | void): Promise<void> {
    await untilDone(this.options.ended, async () => work());
    if (!this.options.ended.aborted && this.#waiting[0]) this.#taken = Number(this.#waiting[0].offset);
    this.options.progress();
  }

  /** The records of the next call, and the one after them if it cannot be read. */
  async #piece(): Promise<{ readonly records: readonly StreamRecord[]; readonly unreadable: Refused | undefined }> {
    const { codec, topic, partition } = this.options;
    const records: StreamRecord[] = [];
    let [n, bytes] = [0, 0];
    let unreadable: Refused | undefined;
    while (n < this.#waiting.length && bytes < pieceBytes && !unreadable) {
      const message = this.#waiting[n++]!;
      bytes += sizeOf(message);
      try {
        records.push(KafkaRecord.decode(codec, topic, partition, message));
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

  /** Why the schema cannot be read; undefined when it is known now. While the registry is away, the partition waits for it. */
  async #learn({ schemaId }: UnknownSchema): Promise<string | undefined> {
    return untilDone(this.options.ended, async () => {
      try {
        await this.options.codec.learn(this.options.topic, schemaId);
        return undefined;
      } catch (error) {
        if (error instanceof TelemetryError && error.retryable) throw error;
        return reasonOf(error);
      }
    });
  }
}

const overheadBytes = 100;

function sizeOf({ value }: KafkaMessage): number {
  return (value?.length ?? 0) + overheadBytes;
}
