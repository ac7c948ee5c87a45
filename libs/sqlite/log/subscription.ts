import { forever } from '#model';
import type { ConsumerOptions, Position, StreamRecord, Subscription, Unreadable } from '#log';
import { Follower, type Followed, type Receiver } from './follower.js';
import { everyPartition, nextOffsets, type GroupPosition, type Keeper } from './positions.js';

/** What a subscription needs of the log beside reading it. */
export interface Home extends Followed {
  left(subscription: GroupSubscription): void;
}

/** An idle group's floor is saved on the way once it has moved so far: a restart then need not go through what others wrote. */
const driftRecords = 1_000;

type Place = Pick<StreamRecord, 'topic' | 'partition' | 'offset'>;

/** The one member of a consumer group. It knows which records it handed out and which of them are committed. */
export class GroupSubscription implements Subscription, Receiver {
  readonly #follower: Follower;
  /** Handed out and perhaps not committed, in offset order. */
  #out: Place[] = [];
  /** Offset that each partition of a topic goes on with. */
  readonly #next = new Map<string, number[]>();
  /** From here on nothing is committed yet. */
  readonly #fresh: number;
  #savedFloor: number;

  constructor(
    private readonly home: Home,
    private readonly options: ConsumerOptions,
    private readonly keeper: Keeper,
    saved: readonly GroupPosition[],
  ) {
    for (const topic of options.topics) this.#next.set(topic.name, nextOffsets(saved, topic));
    const floors = new Map(saved.filter(({ partition }) => partition === everyPartition).map(({ topic, next }) => [topic, next]));
    this.#savedFloor = Math.min(...options.topics.map(({ name }) => floors.get(name) ?? 0));
    this.#fresh = Math.max(...[...this.#next.values()].flat());
    this.#follower = new Follower(home, options.topics, this.#savedFloor, this);
  }

  /** Everything before this offset is committed or of no interest. */
  get position(): number {
    return this.#follower.position;
  }

  wake(): void {
    this.#follower.wake();
  }

  wants(topic: string, partition: number, offset: number): boolean {
    return offset >= this.#fresh || offset >= this.#nextOf(topic, partition);
  }

  async take(records: readonly StreamRecord[]): Promise<void> {
    const known = this.#out.at(-1)?.offset ?? -1;
    for (const { topic, partition, offset } of records) if (offset > known) this.#out.push({ topic, partition, offset });
    await this.options.handler(records, forever);
  }

  async unreadable(record: Unreadable): Promise<void> {
    const { topic, partition, offset } = record;
    if (offset > (this.#out.at(-1)?.offset ?? -1)) this.#out.push({ topic, partition, offset });
    await this.options.unreadable(record, forever);
  }

  failed(error: Error): void {
    this.options.stopped(error);
  }

  async commit(positions: readonly Position[]): Promise<void> {
    for (const { topic, partition, offset } of positions) {
      const next = this.#next.get(topic)!;
      next[partition] = Math.max(next[partition] ?? 0, offset);
    }
    const floor = this.#floor();
    const ahead = positions.filter(({ offset }) => offset > floor);
    await this.keeper.move([...this.#floors(floor), ...ahead.map((it) => ({ ...it, group: this.options.group, next: it.offset }))]);
    this.#savedFloor = Math.max(this.#savedFloor, floor);
  }

  /** The floor as rows to save, once that is worth it. */
  drift(): readonly GroupPosition[] {
    const floor = this.#floor();
    if (floor - this.#savedFloor < driftRecords) return [];
    this.#savedFloor = floor;
    return this.#floors(floor);
  }

  caughtUp(): Promise<void> {
    return this.#follower.reached(this.home.head);
  }

  async lag(): Promise<number> {
    const { tail } = this.home;
    const behind = Math.max(0, tail.from - this.position);
    let waiting = 0;
    for (const { topic } of tail.since(this.position)) if (this.#next.has(topic.name)) waiting++;
    return this.#out.filter((it) => !this.#isCommitted(it)).length + waiting + behind;
  }

  async stop(): Promise<void> {
    await this.#follower.stop();
    this.home.left(this);
  }

  #isCommitted({ topic, partition, offset }: Place): boolean {
    return offset < this.#nextOf(topic.name, partition);
  }

  #nextOf(topic: string, partition: number): number {
    return this.#next.get(topic)![partition] ?? 0;
  }

  #floor(): number {
    const first = this.#out.findIndex((it) => !this.#isCommitted(it));
    if (first !== 0) this.#out = first < 0 ? [] : this.#out.slice(first);
    return this.#out[0]?.offset ?? this.position;
  }

  #floors(next: number): GroupPosition[] {
    return this.options.topics.map((topic) => ({ group: this.options.group, topic: topic.name, partition: everyPartition, next }));
  }
}
