import { OperatorError } from '#model';
import { attemptsHeader, attemptsOf, deadLettersOf, letterTopicOf, wholeBytes } from './dead-letter.js';
import { readLog } from './read-log.js';
import type { RecordLog } from './record-log.js';
import { tombstone, type AnyTopic, type Headers, type StreamRecord } from './topic.js';

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

export interface NewestLetters {
  /** How many dead letters the topic has. */
  readonly count: number;
  /** Oldest first. */
  readonly newest: readonly DeadLetter[];
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

/** The group whose offsets say which dead letters were sent back. */
export const redriveGroup = 'dlq.redrive';

/** Which letters of a topic are there and which were sent back. */
export interface LetterPlace {
  /** Letters before this offset are deleted. */
  readonly first: number;
  /** Letters before this offset were sent back. */
  readonly next: number;
  /** Single letters behind it that were sent back, by their offsets. */
  readonly singles: readonly number[];
}

/** Keeps such places, by the name of the topic of dead letters. */
export interface LetterPlaces {
  of(letters: string): Promise<LetterPlace>;
  /** How many letters are there that were not sent back. */
  waiting(letters: string): Promise<number>;
  /** Rejects OperatorError when another one has kept a place since `before`. */
  keep(letters: string, before: LetterPlace, after: LetterPlace): Promise<void>;
  /** Deletes the letters before an offset for good. */
  delete(letters: string, before: number): Promise<void>;
}

/** Single letters that are noted behind the place: an adapter has as much room. */
export const maxSingles = 256;

/** After how many letters a redrive keeps its place: one that is ended in the middle sends up to so many again. */
const keepEvery = 1000;
/** Two groups park a record one shortly after the other, and a redrive may have ended between the two. */
const lookBack = 10_000;

interface DeadLettersOptions {
  readonly log: Pick<RecordLog, 'append' | 'appendBytes' | 'follow'>;
  readonly topics: readonly AnyTopic[];
  readonly places: LetterPlaces;
  /** What the bytes say as a record of the topic; undefined when nothing. */
  readonly valueOf: (topic: AnyTopic, bytes: Uint8Array) => Promise<unknown>;
}

type Letter = Omit<DeadLetter, 'value'>;

/** What the groups could not use. All of it rejects `log_unavailable`. */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  /** The newest dead letters of a topic, and how many there are. */
  async newest(topic: AnyTopic, limit: number): Promise<NewestLetters> {
    let count = 0;
    let found: Letter[] = [];
    await this.#read(topic, await this.#place(topic), (letter) => {
      count++;
      found.push(letter);
      if (found.length >= 2 * limit) found = found.slice(-limit);
    });
    const newest = found.slice(-limit).map(async (letter) => ({ ...letter, value: await this.#value(letter) }));
    return { count, newest: await Promise.all(newest) };
  }

  /**
   * Appends what was parked again to where it came from, under its own key, each letter once: those that no redrive has sent before, or only
   * the one of an offset. A record that several groups have parked is appended once. It says how often it was parked. Rejects OperatorError.
   */
  async redrive(topic: AnyTopic, only?: number): Promise<Redriven> {
    const place = await this.#place(topic);
    return only === undefined ? this.#redriveAll(topic, place) : this.#redriveOne(topic, place, only);
  }

  /** Deletes letters for good, the oldest first. */
  async purge(topic: AnyTopic, { beforeMs = Infinity, confirmed }: Purge): Promise<Purged> {
    const place = await this.#place(topic);
    let [letters, waiting, end, isOver] = [0, 0, 0, false];
    await this.#read(topic, place, ({ offset, parkedMs }) => {
      isOver ||= parkedMs >= beforeMs;
      if (isOver) return;
      letters++;
      if (!has(place, offset)) waiting++;
      end = offset + 1;
    });
    if (confirmed && letters > 0) await this.options.places.delete(deadLettersOf(topic.name), end);
    return { letters, waiting };
  }

  async #redriveAll(topic: AnyTopic, place: LetterPlace): Promise<Redriven> {
    const sent = new Set<string>();
    let [redriven, left, kept] = [0, 0, place];
    const keep = async (next: number): Promise<void> => {
      if (next <= kept.next) return;
      const after = { ...kept, next, singles: kept.singles.filter((offset) => offset >= next) };
      await this.options.places.keep(deadLettersOf(topic.name), kept, after);
      kept = after;
    };
    let [next, passed] = [place.next, 0];
    try {
      await this.#read(topic, place, async (letter) => {
        if (letter.offset < place.next - lookBack) return;
        const from = placeOf(letter);
        const isNew = !has(place, letter.offset) && !sent.has(from);
        if (!isNew || (await this.#append(letter))) sent.add(from);
        else left++;
        if (letter.offset < place.next) return;
        if (isNew && sent.has(from)) redriven++;
        next = letter.offset + 1;
        if (++passed % keepEvery === 0) await keep(next);
      });
    } finally {
      await keep(next);
    }
    return { redriven, left, before: false };
  }

  async #redriveOne(topic: AnyTopic, place: LetterPlace, offset: number): Promise<Redriven> {
    let found: Letter | undefined;
    await this.#read(topic, place, (letter) => {
      if (letter.offset === offset) found = letter;
    });
    if (!found) return { redriven: 0, left: 0, before: false };
    if (has(place, offset)) return { redriven: 0, left: 0, before: true };
    if (place.singles.length >= maxSingles)
      throw new OperatorError('Too many dead letters were sent back one by one: send the ones before them back with --all.');
    if (!(await this.#append(found))) return { redriven: 0, left: 1, before: false };
    await this.options.places.keep(deadLettersOf(topic.name), place, { ...place, singles: [...place.singles, offset] });
    return { redriven: 1, left: 0, before: false };
  }

  /** False when there is nowhere to append it. A dead letter of no bytes was a tombstone. */
  async #append({ key, bytes, headers }: Letter): Promise<boolean> {
    const origin = this.#origin(headers);
    if (!origin || headers[wholeBytes] !== undefined) return false;
    const attempts = { [attemptsHeader]: `${Math.max(1, attemptsOf(headers))}` };
    const { log } = this.options;
    try {
      await (bytes.length === 0
        ? log.append([{ ...tombstone(origin, key), headers: attempts }])
        : log.appendBytes(origin.name, key, bytes, attempts));
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  async #value({ headers, bytes }: Letter): Promise<unknown> {
    const origin = this.#origin(headers);
    return origin && this.options.valueOf(origin, bytes);
  }

  #origin(headers: Headers): AnyTopic | undefined {
    return this.options.topics.find(({ name }) => name === headers['topic']);
  }

  #place(topic: AnyTopic): Promise<LetterPlace> {
    return this.options.places.of(deadLettersOf(topic.name));
  }

  async #read(topic: AnyTopic, { first }: LetterPlace, take: (letter: Letter) => Promise<void> | void): Promise<void> {
    await readLog(this.options.log, {
      topics: [letterTopicOf(topic)],
      from: 'beginning',
      asBytes: true,
      take: async (records) => {
        for (const record of records) if (record.offset >= first) await take(letterOf(record));
      },
    });
  }
}

const none = new Uint8Array();

function letterOf({ offset, key, value, headers, appendedMs }: StreamRecord): Letter {
  return { offset, key, bytes: (value as Uint8Array | null) ?? none, headers, parkedMs: appendedMs };
}

const has = ({ next, singles }: LetterPlace, offset: number): boolean => offset < next || singles.includes(offset);

/** Where a dead letter came from; itself when it does not say. */
function placeOf({ offset, headers }: Letter): string {
  const { topic, partition, offset: from } = headers;
  return from === undefined ? `${offset}` : `${topic} ${partition} ${from}`;
}
