import {
  MapView,
  NewestValues,
  type AnyTopic,
  type StreamRecord,
  type Topic,
  type Unreadable,
  type UnreadableKey,
  type View,
  type Views,
} from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { placeName } from './group/assignment.js';
import { Member } from './group/member.js';
import { Moment } from './moment.js';
import { ownGroup } from './names.js';
import { extentsOf, type Extents } from './offsets.js';
import { tombstoneMsOf } from './topic-settings.js';
import { logUnavailable, pause, untilDone } from './trouble.js';

export interface KafkaViewsOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
}

const sessionMs = 30_000;
const listenMs = 2_000;
/** After a silence of this length the broker is asked anew how long it keeps tombstones: somebody may have changed that. */
const doubtMs = 30_000;

/** Compacted topics of a Kafka, each followed by a group of its own that has one member and keeps no offsets. */
export class KafkaViews implements Views {
  readonly #open = new Map<string, FollowedTopic>();

  constructor(private readonly options: KafkaViewsOptions) {}

  open<V>(topic: Topic<V>): View<V> {
    let followed = this.#open.get(topic.name);
    if (!followed) {
      const known = this.options.topics.find(({ name }) => name === topic.name);
      if (known?.cleanup !== 'compact') throw new Error(`${topic.name} is not a compacted topic of this log`);
      this.#open.set(topic.name, (followed = new FollowedTopic(this.options, known)));
    }
    return followed.view as View<unknown> as View<V>;
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return [...this.#open.values()].flatMap(({ view }) => view.unreadableKeys());
  }

  /** Records that each view has not taken yet, by topic. Rejects `log_unavailable`. */
  async lags(): Promise<readonly (readonly [topic: string, records: number])[]> {
    return Promise.all(Array.from(this.#open, async ([topic, followed]) => [topic, await followed.lag()] as const));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((followed) => followed.close()));
  }
}

type Standing = Pick<StreamRecord, 'partition' | 'offset' | 'key'>;

/** What the records of a topic go into. */
interface Into {
  take(record: StreamRecord): void;
  refuse(record: Unreadable): void;
}

/**
 * One topic on its way into a view. Kafka keeps a tombstone for `delete.retention.ms`: who was silent for about as long may have missed
 * some, and reads the topic again from its beginning. Until that is done the view shows what it showed, and ages.
 */
class FollowedTopic {
  readonly view: MapView;
  readonly #stopping = new AbortController();
  readonly #name: string;
  readonly #ready: Promise<void>;
  #member: Member | undefined;
  /** Where the topic ended when it was opened. */
  #opened: Extents = new Map();
  /** Offset that each partition goes on with: what comes again is not applied again. */
  #next = new Map<string, number>();
  /** When everything in the log was surely taken, and where the topic ended then. */
  #heard = new Moment();
  #heardEnds: Extents = new Map();
  /** A silence that is longer may have outlasted a tombstone. */
  #longestSilenceMs = 0;
  #readingAgain: Promise<void> | undefined;
  readonly #shown: Into = { take: (record) => this.view.apply(record), refuse: (record) => this.view.refuse(record) };

  constructor(
    private readonly options: KafkaViewsOptions,
    private readonly topic: AnyTopic,
  ) {
    this.#name = (options.address.prefix ?? '') + topic.name;
    this.#ready = this.#follow();
    // Whoever waits for it hears of a failure; where nobody does, the view's age tells.
    this.#ready.catch(() => undefined);
    this.view = new MapView({
      ready: this.#ready,
      caughtUp: () => this.#caughtUp(),
      ageMs: () => this.#heard.agoMs(),
      isChange: ({ partition, offset }) => offset >= (this.#opened.get(this.#name)?.[partition]?.high ?? 0),
    });
  }

  async lag(): Promise<number> {
    const extents = (await this.#extents()).get(this.#name) ?? [];
    const left = extents.map(
      ({ low, high }, partition) => high - Math.max(low, this.#next.get(placeName({ topic: this.#name, partition })) ?? 0),
    );
    return left.reduce((sum, records) => sum + Math.max(0, records), 0);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#member?.stop();
  }

  /** Resolves when the view holds what was there when it was opened. */
  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    await this.options.codec;
    const began = new Moment();
    const ends = await untilDone(signal, () => this.#ends());
    if (!ends) throw closed();
    this.#opened = ends;
    await this.#read(ends, this.#shown);
    this.#heardAll(began, ends);
    void this.#listen();
  }

  /** Reads the topic from its beginning. Resolves when everything before these ends is taken; what comes later is taken too. */
  async #read(ends: Extents, into: Into): Promise<void> {
    const codec = await this.options.codec;
    if (this.#stopping.signal.aborted) throw closed();
    const before = this.#member;
    this.#next = new Map();
    const member = (this.#member = this.#newMember(codec, into));
    await before?.crash();
    await member.join();
    await member.reached(ends);
  }

  #newMember(codec: AvroCodec, into: Into): Member {
    const { address } = this.options;
    return new Member({
      address,
      // A new one each time: a member that was lost without a word holds the old one up until its session is over.
      group: () => ownGroup(this.#name),
      topics: new Map([[this.#name, this.topic]]),
      codec,
      sessionMs,
      startsAt: async () => {
        const lows = (await this.#extents()).get(this.#name);
        return (place) => this.#next.get(placeName(place)) ?? lows?.[place.partition]?.low ?? 0;
      },
      receiver: () => ({
        take: (records) => {
          for (const record of records) if (this.#isNew(record)) into.take(record);
        },
        unreadable: (record) => {
          if (this.#isNew(record)) into.refuse(record);
        },
      }),
      shrunk: () => void this.#fail(),
    });
  }

  /** Whatever it shows may be deleted. */
  #fail(): Promise<void> {
    this.view.fail();
    this.#stopping.abort();
    return this.#member!.crash();
  }

  #isNew({ partition, offset }: Standing): boolean {
    const name = placeName({ topic: this.#name, partition });
    if (offset < (this.#next.get(name) ?? 0)) return false;
    this.#next.set(name, offset + 1);
    return true;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await untilDone(signal, () => this.#hear());
      await pause(listenMs, signal);
    }
  }

  /** Resolves when all is taken that was in the log at the call, and nothing was missed on the way. */
  async #hear(): Promise<void> {
    const began = new Moment();
    const ends = await this.#ends();
    if (!this.#mayHaveMissed(ends)) await this.#member!.reached(ends);
    if (this.#mayHaveMissed(ends)) await (this.#readingAgain = this.#readAgain(ends));
    // A reading that took too long may have missed a tombstone itself.
    if (began.agoMs() > this.#longestSilenceMs) throw logUnavailable(`${this.#name} cannot be read within its delete.retention.ms.`);
    this.#heardAll(began, ends);
  }

  /** Whether tombstones may be gone that this view was not given: by their age, or because somebody has cut off the topic's beginning. */
  #mayHaveMissed(ends: Extents): boolean {
    const heard = this.#heardEnds.get(this.#name) ?? [];
    const cutOff = ends.get(this.#name)!.some(({ low }, partition) => low > (heard[partition]?.high ?? 0));
    return cutOff || this.#heard.agoMs() > this.#longestSilenceMs;
  }

  async #readAgain(ends: Extents): Promise<void> {
    const before = this.#next;
    const newest = new NewestValues();
    const changed = new Set<string>();
    const noted = ({ partition, offset, key }: Standing): void => {
      if (offset >= (before.get(placeName({ topic: this.#name, partition })) ?? 0)) changed.add(key);
    };
    let into: Into = {
      take: (record) => {
        newest.take(record);
        noted(record);
      },
      refuse: (record) => newest.refuse(record),
    };
    await this.#read(ends, { take: (record) => into.take(record), refuse: (record) => into.refuse(record) });
    this.view.replace(newest, changed);
    into = this.#shown;
  }

  #heardAll(moment: Moment, ends: Extents): void {
    this.#heard = moment;
    this.#heardEnds = ends;
  }

  async #caughtUp(): Promise<void> {
    await this.#ready;
    const ends = await this.#extents();
    for (;;) {
      await this.#readingAgain;
      const member = this.#member!;
      const end = await member.reached(ends).then(
        () => undefined,
        (cause: unknown) => ({ cause }),
      );
      // Who waited for a member that another one has taken the place of goes on with that one.
      if (member !== this.#member) continue;
      if (end) throw end.cause;
      return;
    }
  }

  /** Where the topic ends; after a silence also how long it keeps tombstones. */
  async #ends(): Promise<Extents> {
    const [ends, tombstoneMs] = await Promise.all([
      this.#extents(),
      this.#longestSilenceMs > 0 && this.#heard.agoMs() < doubtMs ? undefined : tombstoneMsOf(this.options.asker, this.#name),
    ]);
    if (tombstoneMs !== undefined) this.#longestSilenceMs = tombstoneMs / 2;
    return ends;
  }

  #extents(): Promise<Extents> {
    return extentsOf(this.options.asker, [this.#name]);
  }
}

const closed = (): ReturnType<typeof logUnavailable> => logUnavailable('The log is being closed.');
