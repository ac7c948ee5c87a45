import { tombstone, type AnyTopic, type Headers, type RecordLog } from '#log';
import { UnknownSchema, type AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import type { Refused } from './kafka-record.js';
import { deadLettersOf, wholeBytes } from './names.js';
import { extentsOf, type Extent } from './offsets.js';
import { readTopic } from './read-topic.js';

/** What a group could not use. */
export interface DeadLetter {
  /** Its place among the dead letters of its topic. */
  readonly offset: number;
  readonly key: string;
  /** None of a tombstone. */
  readonly bytes: Uint8Array;
  /** Its value, whatever rules that breaks; undefined when the bytes are not one of its topic. */
  readonly value: unknown;
  /** The place of the record, the reason and the group, as who parked it has put them: `topic`, `partition`, `offset`, `reason`, `group`; `bytes` where it is not whole. */
  readonly headers: Headers;
  /** Unix milliseconds. */
  readonly parkedMs: number;
}

export interface Redriven {
  /** Records that were appended again to the topics that they came from. */
  readonly redriven: number;
  /** Letters that do not say which of our topics they came from, are larger than what it takes, or are not whole. */
  readonly left: number;
}

interface DeadLettersOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
  readonly log: RecordLog;
}

/** What the groups could not use. All of it rejects `log_unavailable`. */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  /** How many dead letters a topic has. */
  async count(topic: AnyTopic): Promise<number> {
    const { low, high } = await this.#extent(topic);
    return high - low;
  }

  /** The newest dead letters of a topic, oldest first. */
  async newest(topic: AnyTopic, limit: number): Promise<readonly DeadLetter[]> {
    const { low, high } = await this.#extent(topic);
    const found: DeadLetter[] = [];
    await this.#read(topic, { low: Math.max(low, high - limit), high }, async ({ offset, key, bytes, headers, appendedMs }) => {
      found.push({ offset, key, bytes, headers, parkedMs: appendedMs, value: await this.#value(headers, bytes) });
    });
    return found;
  }

  /**
   * Appends what was parked again to where it came from, under its own key: all of it, or only the dead letter of one offset. A record
   * that several groups have parked is appended once.
   */
  async redrive(topic: AnyTopic, only?: number): Promise<Redriven> {
    const { low, high } = await this.#extent(topic);
    const extent = only === undefined ? { low, high } : { low: Math.max(low, only), high: Math.min(high, only + 1) };
    const places = new Set<string>();
    let left = 0;
    await this.#read(topic, extent, async (letter) => {
      const place = placeOf(letter);
      if (places.has(place)) return;
      if (await this.#append(letter)) places.add(place);
      else left++;
    });
    return { redriven: places.size, left };
  }

  /** False when there is nowhere to append it. A dead letter of no bytes was a tombstone. */
  async #append({ key, bytes, headers }: Refused): Promise<boolean> {
    const origin = this.#origin(headers);
    if (!origin || headers[wholeBytes] !== undefined) return false;
    try {
      await (bytes.length === 0 ? this.options.log.append([tombstone(origin, key)]) : this.options.log.park(origin.name, key, bytes, {}));
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  async #value(headers: Headers, bytes: Uint8Array): Promise<unknown> {
    const origin = this.#origin(headers);
    const codec = await this.options.codec;
    try {
      return origin && codec.read(origin, bytes);
    } catch (error) {
      if (!(error instanceof UnknownSchema)) return undefined;
      const again = codec.learn(origin!, error.schemaId).then(() => codec.read(origin!, bytes));
      return again.catch(() => undefined);
    }
  }

  #origin(headers: Headers): AnyTopic | undefined {
    return this.options.topics.find(({ name }) => name === headers['topic']);
  }

  async #read(topic: AnyTopic, { low, high }: Extent, take: (letter: Refused) => Promise<void>): Promise<void> {
    const { address } = this.options;
    const codec = await this.options.codec;
    await readTopic({ address, codec, name: this.#name(topic), topic: lettersOf(topic), from: low, to: high, take });
  }

  async #extent(topic: AnyTopic): Promise<Extent> {
    const name = this.#name(topic);
    const [extent] = (await extentsOf(this.options.asker, [name])).get(name)!;
    return extent!;
  }

  #name(topic: AnyTopic): string {
    return (this.options.address.prefix ?? '') + deadLettersOf(topic.name);
  }
}

/** Where a dead letter came from; itself when it does not say. */
function placeOf({ offset, headers }: Refused): string {
  const { topic, partition, offset: from } = headers;
  return from === undefined ? `${offset}` : `${topic} ${partition} ${from}`;
}

/** A topic that no codec knows: its records come as they are. */
function lettersOf(topic: AnyTopic): AnyTopic {
  return { ...topic, name: deadLettersOf(topic.name), cleanup: 'delete', partitions: 1 };
}
