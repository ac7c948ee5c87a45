import type { Following, FollowOptions, StreamRecord, Unreadable } from '#log';
import { Follower, type Followed, type Receiver } from './follower.js';

/** What a following needs of the log beside reading it. */
export interface FollowedLog extends Followed {
  /** Milliseconds since the log has ended; 0 while it lives. */
  ageMs(): number;
  /** Nothing more is to be read. */
  left(following: LogFollowing): void;
}

/** Topics that are read without a group. */
export class LogFollowing implements Following, Receiver {
  readonly #follower: Follower;
  readonly #names: ReadonlySet<string>;
  /** Offset after the last record that is wanted. */
  readonly #end: number;
  /** By topic and partition, when only the named ones are wanted. */
  readonly #from: ReadonlyMap<string, number> | undefined;

  constructor(
    private readonly log: FollowedLog,
    private readonly options: FollowOptions,
  ) {
    const { topics, from, to, asBytes } = options;
    this.#names = new Set(topics.map(({ name }) => name));
    this.#end = to === 'end' ? log.head : Infinity;
    this.#from = typeof from === 'string' ? undefined : new Map(from.map((it) => [placeName(it.topic, it.partition), it.offset]));
    const start = from === 'beginning' ? 0 : Math.min(log.head, ...(this.#from?.values() ?? []));
    this.#follower = new Follower(log, topics, start, this, asBytes);
    if (to === 'end') this.caughtUp().then(() => this.stop(), ignore);
  }

  /** Everything before this offset has been handed over, or is of no interest. */
  get position(): number {
    return this.#follower.position >= this.#end ? Infinity : this.#follower.position;
  }

  wake(): void {
    this.#follower.wake();
  }

  wants(topic: string, partition: number, offset: number): boolean {
    const { partitions } = this.options;
    if (offset >= this.#end || (partitions && !partitions.includes(partition))) return false;
    return !this.#from || offset >= (this.#from.get(placeName(topic, partition)) ?? Infinity);
  }

  take(records: readonly StreamRecord[]): Promise<void> | void {
    return orRejected(() => this.options.take(records));
  }

  unreadable(record: Unreadable): Promise<void> | void {
    return orRejected(() => this.options.unreadable(record));
  }

  failed(error: Error): void {
    this.log.left(this);
    this.options.stopped(error);
  }

  caughtUp(): Promise<void> {
    return this.#follower.reached(Math.min(this.log.head, this.#end));
  }

  ageMs(): number {
    return Math.max(this.log.ageMs(), this.position === Infinity ? 0 : this.#follower.ageMs());
  }

  lag(): number {
    if (this.position === Infinity) return 0;
    const { tail } = this.log;
    let records = Math.max(0, Math.min(this.#end, tail.from) - this.position);
    for (const { topic, partition, offset } of tail.since(this.position))
      if (this.#names.has(topic.name) && this.wants(topic.name, partition, offset)) records++;
    return records;
  }

  async stop(): Promise<void> {
    this.log.left(this);
    await this.#follower.stop();
  }
}

const placeName = (topic: string, partition: number): string => `${partition} ${topic}`;
const ignore = (): void => undefined;

/** What throws at once is tried again like what rejects. */
function orRejected(work: () => Promise<void> | void): Promise<void> | void {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}
