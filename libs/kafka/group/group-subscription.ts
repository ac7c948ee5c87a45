import type { AnyTopic, ConsumerOptions, PartitionLag, Position, Subscription } from '#log';
import type { Asker, Extent, Extents } from '../asker.js';
import type { KafkaAddress } from '../client.js';
import type { Fetcher } from '../fetch/fetcher.js';
import type { RecordCodec } from '../fetch/kafka-record.js';
import type { TopicPartition } from '../topic-partition.js';
import { complaint, logUnavailable } from '../trouble.js';
import type { CommitStart } from './assignment.js';
import { Member } from './member.js';

export interface GroupOptions {
  readonly address: KafkaAddress;
  readonly codec: RecordCodec;
  readonly sessionMs: number;
  readonly lookMs?: number | undefined;
  readonly asker: Asker;
  readonly fetcher: Fetcher;
  /** Hears what an operator should know. */
  readonly report: (message: string) => void;
  /** Called when it has stopped. */
  readonly stopped: (subscription: GroupSubscription) => void;
}

/** A member of a group whose offsets Kafka keeps. */
export class GroupSubscription implements Subscription {
  readonly #prefix: string;
  readonly #group: string;
  readonly #topics: ReadonlyMap<string, AnyTopic>;
  readonly #asker: Asker;
  readonly #member: Member;
  #lags: Promise<readonly PartitionLag[]> | undefined;

  constructor(
    private readonly options: GroupOptions,
    { group, topics, from, given, handler, unreadable }: ConsumerOptions,
  ) {
    const { address, codec, sessionMs, lookMs, asker, fetcher } = options;
    this.#prefix = address.prefix ?? '';
    this.#group = this.#prefix + group;
    this.#topics = new Map(topics.map((topic) => [this.#prefix + topic.name, topic]));
    this.#asker = asker;
    this.#member = new Member({
      address,
      group: this.#group,
      topics: this.#topics,
      codec,
      sessionMs,
      lookMs,
      asker,
      fetcher,
      startsAt: (partitions, commit) => this.#startsAt(partitions, from === 'end' ? commit : undefined),
      receiver: ({ lease, partitions }) => {
        given?.(lease, [...new Set(partitions.map(({ partition }) => partition))]);
        return {
          take: (records) => handler(records, lease),
          unreadable: (record) => unreadable(record, lease),
        };
      },
      shrunk: (partition) => this.#tellShrunk(partition),
    });
  }

  /** Why the group cannot be read, in words for the operator; undefined when it can. */
  health(): string | undefined {
    return complaint(`group ${this.#group} cannot read`, this.#member.failure);
  }

  join(): Promise<void> {
    return this.#member.join();
  }

  commit(positions: readonly Position[]): Promise<void> {
    return this.#member.commit(positions.map((position) => ({ ...position, topic: this.#prefix + position.topic })));
  }

  async caughtUp(): Promise<void> {
    await this.#member.reached(await this.#asker.extentsOf(this.#names));
  }

  async lag(): Promise<number> {
    return (await this.lags()).reduce((sum, { records }) => sum + records, 0);
  }

  /** Whoever asks while brokers are being asked gets their answer too: several figures of one page need it. */
  lags(): Promise<readonly PartitionLag[]> {
    this.#lags ??= this.#askForLags().finally(() => (this.#lags = undefined));
    return this.#lags;
  }

  async stop(): Promise<void> {
    await this.#member.stop();
    this.options.stopped(this);
  }

  crash(): Promise<void> {
    return this.#member.crash();
  }

  get #names(): readonly string[] {
    return [...this.#topics.keys()];
  }

  async #askForLags(): Promise<readonly PartitionLag[]> {
    const [extents, committed] = await this.#offsets();
    return Array.from(extents, ([name, partitions]) => {
      const topic = this.#topics.get(name)!.name;
      return partitions.map(({ low, high }, partition) => {
        const next = Math.max(low, committed.get(name)?.[partition] ?? low);
        return { topic, partition, records: Math.max(0, high - next) };
      });
    }).flat();
  }

  /** @param commitEnd given where the group begins at the end: it commits that first, so that nothing is missed before its own first commit. */
  async #startsAt(places: readonly TopicPartition[], commitEnd?: CommitStart): Promise<(place: TopicPartition) => number> {
    if (places.length === 0) return () => 0;
    const [extents, committed] = await this.#offsets();
    const extent = ({ topic, partition }: TopicPartition): Extent => extents.get(topic)?.[partition] ?? { low: 0, high: 0 };
    const wanted = ({ topic, partition }: TopicPartition): number => committed.get(topic)?.[partition] ?? -1;
    const isShrunk = (place: TopicPartition): boolean => wanted(place) > extent(place).high;
    const fresh = commitEnd ? places.filter((place) => wanted(place) < 0) : [];
    if (fresh.length > 0) {
      await commitEnd!(fresh.map((place) => ({ ...place, offset: extent(place).high })));
      // kafkajs says nothing when it cannot commit yet, so the offsets are read back.
      return this.#startsAt(places, () => Promise.reject(logUnavailable('The group does not take offsets yet.')));
    }
    for (const place of places.filter(isShrunk)) this.#tellShrunk(place);
    return (place) => (isShrunk(place) ? extent(place).low : Math.max(extent(place).low, wanted(place)));
  }

  #tellShrunk({ topic, partition }: TopicPartition): void {
    const what = `partition ${partition} of ${topic} ends before what the group ${this.#group} has read of it: Kafka has lost records`;
    this.options.report(`${what}, and the group reads the partition from its beginning`);
  }

  /** The committed offsets are asked for before the ends: otherwise an offset could be beyond its end. */
  async #offsets(): Promise<readonly [Extents, Awaited<ReturnType<Asker['committedBy']>>]> {
    const committed = await this.#asker.committedBy(this.#group, this.#names);
    return [await this.#asker.extentsOf(this.#names), committed];
  }
}
