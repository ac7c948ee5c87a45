import type { AnyTopic, ConsumerOptions, Position, Subscription } from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from '../asker.js';
import type { KafkaAddress } from '../client.js';
import { committedBy, extentsOf } from '../offsets.js';
import { complaint } from '../trouble.js';
import type { Place } from './assignment.js';
import { Member } from './member.js';

export interface GroupOptions {
  readonly address: KafkaAddress;
  readonly codec: AvroCodec;
  readonly sessionMs: number;
  readonly asker: Asker;
}

/** A member of a group whose offsets Kafka keeps. */
export class GroupSubscription implements Subscription {
  readonly #prefix: string;
  readonly #group: string;
  readonly #topics: ReadonlyMap<string, AnyTopic>;
  readonly #asker: Asker;
  readonly #member: Member;

  constructor({ address, codec, sessionMs, asker }: GroupOptions, { group, topics, handler, unreadable }: ConsumerOptions) {
    this.#prefix = address.prefix ?? '';
    this.#group = this.#prefix + group;
    this.#topics = new Map(topics.map((topic) => [this.#prefix + topic.name, topic]));
    this.#asker = asker;
    this.#member = new Member({
      address,
      group: () => this.#group,
      topics: this.#topics,
      codec,
      sessionMs,
      startsAt: (places) => this.#startsAt(places),
      receiver: ({ lease }) => ({
        take: (records) => handler(records, lease),
        unreadable: (record) => unreadable(record, lease),
      }),
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
    await this.#member.reached(await extentsOf(this.#asker, this.#names));
  }

  async lag(): Promise<number> {
    const [extents, committed] = await this.#offsets();
    let lag = 0;
    for (const [topic, partitions] of extents) {
      for (const [partition, { low, high }] of partitions.entries())
        lag += Math.max(0, high - Math.max(low, committed.get(topic)?.[partition] ?? low));
    }
    return lag;
  }

  stop(): Promise<void> {
    return this.#member.stop();
  }

  crash(): Promise<void> {
    return this.#member.crash();
  }

  get #names(): readonly string[] {
    return [...this.#topics.keys()];
  }

  async #startsAt(places: readonly Place[]): Promise<(place: Place) => number> {
    if (places.length === 0) return () => 0;
    const [extents, committed] = await this.#offsets();
    return ({ topic, partition }) => Math.max(extents.get(topic)?.[partition]?.low ?? 0, committed.get(topic)?.[partition] ?? 0);
  }

  #offsets(): Promise<[Awaited<ReturnType<typeof extentsOf>>, Awaited<ReturnType<typeof committedBy>>]> {
    return Promise.all([extentsOf(this.#asker, this.#names), committedBy(this.#asker, this.#group, this.#names)]);
  }
}
