import { forever } from '#model';
import type { AnyTopic, ConsumerOptions, PartitionLag, Position, StreamRecord, Subscription } from '#log';
import { Follower, type Followed, type Fresh, type Reading } from './follower.js';
import { Offsets } from './offsets.js';
import { everyPartition, nextOffsets, type GroupPosition, type Keeper } from './positions.js';

/** The floor of an idle group is saved with other commits once it has moved so far, so that a restart does not go through what others wrote. */
const driftRecords = 1_000;

/**
 * The one member of a consumer group. It knows which records it delivered and which of them are committed. Its floor is the offset before which
 * everything is committed or of no interest.
 */
export class GroupSubscription implements Subscription, Reading {
  readonly #follower: Follower;
  /** Offsets of records that were delivered and are not committed, in order, of each partition by topic. */
  readonly #uncommitted = new Map<string, Offsets[]>();
  /** The least of them. */
  #oldest = Infinity;
  /** Offset after the newest record that was delivered. */
  #deliveredTo = 0;
  /** Committed offset of each partition, by topic. */
  readonly #next = new Map<string, number[]>();
  #savedFloor: number;

  constructor(
    private readonly log: Followed,
    private readonly options: ConsumerOptions,
    private readonly keeper: Keeper,
    saved: readonly GroupPosition[],
  ) {
    for (const topic of options.topics) {
      this.#next.set(topic.name, nextOffsets(saved, topic));
      this.#uncommitted.set(
        topic.name,
        Array.from({ length: topic.partitions }, () => new Offsets()),
      );
    }
    const floors = new Map(saved.filter(({ partition }) => partition === everyPartition).map(({ topic, next }) => [topic, next]));
    this.#savedFloor = Math.min(...options.topics.map(({ name }) => floors.get(name) ?? 0));
    // When the group begins, no partition has committed anything from this offset on.
    const fresh = Math.max(...[...this.#next.values()].flat());
    this.#follower = new Follower(log, this.#savedFloor, {
      topics: options.topics,
      wants: (topic, partition, offset) => offset >= fresh || offset >= this.#nextOf(topic, partition),
      take: async (records) => {
        this.#deliver(records);
        await options.handler(records, forever);
      },
      unreadable: async (record) => {
        this.#deliver([record]);
        await options.unreadable(record, forever);
      },
      stopped: (error) => options.stopped(error),
    });
  }

  get topics(): readonly AnyTopic[] {
    return this.options.topics;
  }

  get position(): number {
    return this.#follower.position;
  }

  wake(fresh?: Fresh): void {
    this.#follower.wake(fresh);
  }

  async commit(positions: readonly Position[]): Promise<void> {
    for (const { topic, partition, offset } of positions) {
      const next = this.#next.get(topic)!;
      next[partition] = Math.max(next[partition] ?? 0, offset);
      this.#uncommitted.get(topic)![partition]!.dropBefore(next[partition]);
    }
    this.#oldest = Math.min(Infinity, ...this.#places().map(({ first }) => first));
    const floor = this.#floor();
    const ahead = positions.filter(({ offset }) => offset > floor);
    await this.keeper.move([...this.#floors(floor), ...ahead.map((it) => ({ ...it, group: this.options.group, next: it.offset }))]);
    this.#savedFloor = Math.max(this.#savedFloor, floor);
  }

  /** The floor as positions to save, once it has moved so far. */
  drift(records = driftRecords): readonly GroupPosition[] {
    const floor = this.#floor();
    if (floor - this.#savedFloor < records) return [];
    this.#savedFloor = floor;
    return this.#floors(floor);
  }

  caughtUp(): Promise<void> {
    return this.#follower.reached(this.log.head);
  }

  async lag(): Promise<number> {
    const delivered = this.#places().reduce((sum, offsets) => sum + offsets.length, 0);
    return delivered + this.#follower.waiting();
  }

  async lags(): Promise<readonly PartitionLag[]> {
    const counts = new Map(Array.from(this.#uncommitted, ([topic, of]) => [topic, of.map(({ length }) => length)]));
    for (const { topic, partition } of this.#follower.waitingInMemory()) counts.get(topic.name)![partition]!++;
    return Array.from(counts, ([topic, of]) => of.map((records, partition) => ({ topic, partition, records }))).flat();
  }

  async stop(): Promise<void> {
    await this.#follower.stop();
    this.log.left(this);
  }

  /** Records that the handler rejected come again: they are noted once. */
  #deliver(records: readonly Pick<StreamRecord, 'topic' | 'partition' | 'offset'>[]): void {
    for (const { topic, partition, offset } of records) {
      if (offset < this.#deliveredTo) continue;
      this.#deliveredTo = offset + 1;
      if (offset < this.#nextOf(topic.name, partition)) continue;
      this.#uncommitted.get(topic.name)![partition]!.push(offset);
      this.#oldest = Math.min(this.#oldest, offset);
    }
  }

  #places(): readonly Offsets[] {
    return [...this.#uncommitted.values()].flat();
  }

  #nextOf(topic: string, partition: number): number {
    return this.#next.get(topic)![partition] ?? 0;
  }

  #floor(): number {
    return Math.min(this.position, this.#oldest);
  }

  #floors(next: number): GroupPosition[] {
    return this.options.topics.map((topic) => ({ group: this.options.group, topic: topic.name, partition: everyPartition, next }));
  }
}
