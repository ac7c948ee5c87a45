import { attemptsHeader, attemptsOf, tombstone, type AnyTopic, type Headers, type RecordLog } from '#log';
import { UnknownSchema, type AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import type { Refused } from './kafka-record.js';
import { deadLettersOf, wholeBytes } from './names.js';
import { extentsOf, type Extent } from './offsets.js';
import { readTopic } from './read-topic.js';
import { RedrivePlace } from './redrive-place.js';

/** What a group could not use. */
export interface DeadLetter {
  /** Its place among the dead letters of its topic. */
  readonly offset: number;
  readonly key: string;
  /** None of a tombstone. */
  readonly bytes: Uint8Array;
  /** Its value, whatever rules that breaks; undefined when the bytes are not one of its topic. */
  readonly value: unknown;
  /** The place of the record, the reason and the group, as who parked it has put them: `topic`, `partition`, `offset`, `reason`, `group`, `attempts`; `bytes` where it is not whole. */
  readonly headers: Headers;
  /** Unix milliseconds. */
  readonly parkedMs: number;
}

export interface Redriven {
  /** Records that were appended again to the topics that they came from. */
  readonly redriven: number;
  /** Letters that do not say which of our topics they came from, are larger than what it takes, or are not whole. */
  readonly left: number;
  /** Whether the only letter that was asked for was sent back before. It is not sent again. */
  readonly before: boolean;
}

export interface Purge {
  /** Only letters that were parked before this time go, Unix milliseconds; all when left out. */
  readonly beforeMs?: number | undefined;
  /** False only counts. */
  readonly confirmed: boolean;
}

export interface Purged {
  readonly letters: number;
  /** Those of them that were never sent back. */
  readonly waiting: number;
}

/** After how many letters a redrive keeps its place: one that is ended in the middle sends up to so many again. */
const keepEvery = 1000;
/** Two groups park a record one shortly after the other, and a redrive may end between the two. */
const lookBack = 10_000;

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
   * Appends what was parked again to where it came from, under its own key, each letter once: those that no redrive has sent before, or only
   * the one of an offset. A record that several groups have parked is appended once. It says how often it was parked. Rejects RedriveRefused.
   */
  async redrive(topic: AnyTopic, only?: number): Promise<Redriven> {
    const { low, high } = await this.#extent(topic);
    const place = await RedrivePlace.of(this.options.address, this.options.asker, this.#name(topic));
    if (only !== undefined) return this.#redriveOne(topic, { low, high }, place, only);
    const start = Math.max(low, place.next);
    const sent = new Set<string>();
    let [redriven, left] = [0, 0];
    let next = start;
    try {
      await this.#read(topic, { low: Math.max(low, start - lookBack), high }, async (letter) => {
        const { offset } = letter;
        const from = placeOf(letter);
        const isNew = !place.has(offset) && !sent.has(from);
        if (!isNew || (await this.#append(letter))) sent.add(from);
        else left++;
        if (offset < start) return;
        if (isNew && sent.has(from)) redriven++;
        next = offset + 1;
        if ((next - start) % keepEvery === 0) await place.keep(next);
      });
    } finally {
      await place.keep(next);
    }
    return { redriven, left, before: false };
  }

  /** Deletes letters for good, the oldest first. */
  async purge(topic: AnyTopic, { beforeMs, confirmed }: Purge): Promise<Purged> {
    const { asker, address } = this.options;
    const name = this.#name(topic);
    const { low, high } = await this.#extent(topic);
    const end = beforeMs === undefined ? high : await this.#firstSince(name, beforeMs, high);
    const place = await RedrivePlace.of(address, asker, name);
    const letters = Math.max(0, end - low);
    let waiting = 0;
    for (let offset = Math.max(low, place.next); offset < end; offset++) if (!place.has(offset)) waiting++;
    if (confirmed && letters > 0)
      await asker.ask(async (admin) => {
        // It finds the leader only of topics that it has been asked for.
        await admin.fetchTopicOffsets(name);
        await admin.deleteTopicRecords({ topic: name, partitions: [{ partition: 0, offset: String(end) }] });
      });
    return { letters, waiting };
  }

  async #firstSince(name: string, sinceMs: number, high: number): Promise<number> {
    const found = await this.options.asker.ask((admin) => admin.fetchTopicOffsetsByTimestamp(name, sinceMs));
    return Math.min(high, Number(found.find(({ partition }) => partition === 0)?.offset ?? 0));
  }

  async #redriveOne(topic: AnyTopic, { low, high }: Extent, place: RedrivePlace, offset: number): Promise<Redriven> {
    if (offset < low || offset >= high) return { redriven: 0, left: 0, before: false };
    if (place.has(offset)) return { redriven: 0, left: 0, before: true };
    place.demandRoom();
    let redriven = 0;
    await this.#read(topic, { low: offset, high: offset + 1 }, async (letter) => {
      if (await this.#append(letter)) redriven++;
    });
    if (redriven > 0) await place.add(offset);
    return { redriven, left: 1 - redriven, before: false };
  }

  /** False when there is nowhere to append it. A dead letter of no bytes was a tombstone. */
  async #append({ key, bytes, headers }: Refused): Promise<boolean> {
    const origin = this.#origin(headers);
    if (!origin || headers[wholeBytes] !== undefined) return false;
    const attempts = { [attemptsHeader]: `${Math.max(1, attemptsOf(headers))}` };
    const { log } = this.options;
    try {
      await (bytes.length === 0
        ? log.append([{ ...tombstone(origin, key), headers: attempts }])
        : log.park(origin.name, key, bytes, attempts));
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
