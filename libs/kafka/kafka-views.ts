import { MapView, type AnyTopic, type Topic, type View, type Views } from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { placeName, type Place } from './group/assignment.js';
import { Member } from './group/member.js';
import { ownGroup } from './names.js';
import { extentsOf, type Extents } from './offsets.js';
import { logUnavailable, pause, untilDone } from './trouble.js';

export interface KafkaViewsOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
}

const sessionMs = 30_000;
const listenMs = 2_000;

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

  /** Records that each view has not taken yet, by topic. Rejects `log_unavailable`. */
  async lags(): Promise<readonly (readonly [topic: string, records: number])[]> {
    return Promise.all(Array.from(this.#open, async ([topic, followed]) => [topic, await followed.lag()] as const));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((followed) => followed.close()));
  }
}

/** One topic on its way into a view. */
class FollowedTopic {
  readonly view: MapView;
  readonly #stopping = new AbortController();
  readonly #name: string;
  readonly #ready: Promise<void>;
  #member: Member | undefined;
  /** Where the topic ended when it was opened. */
  #shown: Extents = new Map();
  /** Offset that each partition goes on with: what comes again is not applied again. */
  readonly #next = new Map<string, number>();
  #heardMs = performance.now();

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
      ageMs: () => performance.now() - this.#heardMs,
      isChange: ({ partition, offset }) => offset >= (this.#shown.get(this.#name)?.[partition]?.high ?? 0),
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
    const codec = await this.options.codec;
    const extents = await untilDone(signal, () => this.#extents());
    if (!extents || signal.aborted) throw closed();
    this.#shown = extents;
    this.#member = this.#newMember(codec);
    await this.#member.join();
    await this.#member.reached(extents);
    void this.#listen();
  }

  #newMember(codec: AvroCodec): Member {
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
          for (const record of records) {
            if (this.#isNew({ topic: this.#name, partition: record.partition }, record.offset)) this.view.apply(record);
          }
        },
        unreadable: () => this.#fail(),
      }),
      shrunk: () => void this.#fail(),
    });
  }

  /** A view that cannot show a record stops there, for it would show what may be deleted. */
  #fail(): Promise<void> {
    this.view.fail();
    this.#stopping.abort();
    return this.#member!.crash();
  }

  #isNew(place: Place, offset: number): boolean {
    const name = placeName(place);
    if (offset < (this.#next.get(name) ?? 0)) return false;
    this.#next.set(name, offset + 1);
    return true;
  }

  /** A view that has reached what was the end a moment ago was heard then. */
  async #listen(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const nowMs = performance.now();
      await untilDone(signal, async () => {
        await this.#caughtUp();
        this.#heardMs = nowMs;
      });
      await pause(listenMs, signal);
    }
  }

  async #caughtUp(): Promise<void> {
    await this.#ready;
    await this.#member!.reached(await this.#extents());
  }

  #extents(): Promise<Extents> {
    return extentsOf(this.options.asker, [this.#name]);
  }
}

const closed = (): ReturnType<typeof logUnavailable> => logUnavailable('The log is being closed.');
