import { LogGap, type AnyTopic, type Following, type FollowOptions, type Position } from '#log';
import { Follower, type Followed, type Fresh, type Reading } from './follower.js';

/** Topics that are read without a group. */
export class LogFollowing implements Following, Reading {
  readonly #follower: Follower;
  /** Offset after the last record that is wanted. */
  readonly #end: number;
  /** The partitions that are read. */
  readonly #partitions: readonly Omit<Position, 'offset'>[];

  constructor(
    private readonly log: Followed,
    options: FollowOptions,
  ) {
    const { from, to, partitions } = options;
    const end = to === 'end' ? log.head : Infinity;
    const positions = typeof from === 'string' ? undefined : new Map(from.map((it) => [partitionName(it.topic, it.partition), it.offset]));
    const start = from === 'beginning' ? 0 : Math.min(log.head, ...(positions?.values() ?? []));
    this.#end = end;
    const isWanted = (topic: string, partition: number): boolean =>
      (!partitions || partitions.includes(partition)) && (!positions || positions.has(partitionName(topic, partition)));
    this.#partitions = options.topics.flatMap(({ name, partitions: count }) =>
      Array.from({ length: count }, (_, partition) => ({ topic: name, partition })).filter((it) => isWanted(it.topic, it.partition)),
    );
    this.#follower = new Follower(log, start, {
      ...options,
      wants: (topic, partition, offset) =>
        offset < end &&
        (!partitions || partitions.includes(partition)) &&
        (!positions || offset >= (positions.get(partitionName(topic, partition)) ?? Infinity)),
      stopped: (error) => {
        log.left(this);
        options.stopped(error);
      },
    });
    const lost = positions && options.topics.find((topic) => this.#isGone(topic, from as readonly Position[]));
    // Whoever asks gets this following before it ends.
    if (lost)
      queueMicrotask(() =>
        this.#follower.fail(new LogGap(`the log begins at offset ${log.begins}, behind where ${lost.name} was to be read`)),
      );
    if (to === 'end')
      this.caughtUp().then(
        () => this.stop(),
        () => undefined,
      );
  }

  /** Everything before this offset has been handed over, or is of no interest; `Infinity` once the end is reached. */
  get position(): number {
    return this.#follower.position >= this.#end ? Infinity : this.#follower.position;
  }

  wake(fresh?: Fresh): void {
    this.#follower.wake(fresh);
  }

  caughtUp(): Promise<void> {
    return this.#follower.reached(Math.min(this.log.head, this.#end));
  }

  ageMs(): number {
    return Math.max(this.log.ageMs(), this.position === Infinity ? 0 : this.#follower.ageMs());
  }

  lag(): number {
    return this.position === Infinity ? 0 : this.#follower.waiting(this.#end);
  }

  positions(): readonly Position[] {
    return this.#partitions.map((name) => ({ ...name, offset: this.#follower.position }));
  }

  async stop(): Promise<void> {
    this.log.left(this);
    await this.#follower.stop();
  }

  /** Whether records of a topic are gone from one of these positions on. Of a compacted topic there are always the newest. */
  #isGone({ name, cleanup }: AnyTopic, from: readonly Position[]): boolean {
    const { begins, tail } = this.log;
    return cleanup === 'delete' && from.some(({ topic, offset }) => topic === name && offset < begins && offset < tail.from);
  }
}

const partitionName = (topic: string, partition: number): string => `${partition} ${topic}`;
