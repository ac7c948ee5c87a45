import { MapView, type AnyTopic, type StreamRecord, type Topic, type Unreadable, type UnreadableKey, type View, type Views } from '#log';
import type { Follower, Receiver } from './follower.js';
import type { SqliteLog } from './sqlite-log.js';

/** All compacted topics followed together: they lie in one table, so one pass loads every view. */
export class SqliteViews implements Views, Receiver {
  readonly #views = new Map<string, MapView>();
  #follower: Follower | undefined;

  constructor(
    private readonly log: SqliteLog,
    private readonly topics: readonly AnyTopic[],
  ) {}

  open<V>(topic: Topic<V>): View<V> {
    if (!this.#follower) this.#start();
    const view = this.#views.get(topic.name);
    if (!view) throw new Error(`${topic.name} is not a compacted topic of this log`);
    return view as View<unknown> as View<V>;
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return [...this.#views.values()].flatMap((view) => view.unreadableKeys());
  }

  wants(): boolean {
    return true;
  }

  take(records: readonly StreamRecord[]): void {
    for (const record of records) this.#views.get(record.topic.name)!.apply(record);
  }

  async unreadable(record: Unreadable): Promise<void> {
    this.#views.get(record.topic.name)!.refuse(record);
  }

  failed(): void {
    for (const view of this.#views.values()) view.fail();
  }

  #start(): void {
    const compacted = this.topics.filter((topic) => topic.cleanup === 'compact');
    const loaded = Promise.withResolvers<void>();
    // Whoever waits for it hears of a failure; where nobody does, the view's age tells.
    loaded.promise.catch(() => undefined);
    const caughtUp = (): Promise<void> => this.#follower!.reached(this.log.head);
    const { head } = this.log;
    const isChange = ({ offset }: Pick<StreamRecord, 'offset'>): boolean => offset >= head;
    const options = { ready: loaded.promise, caughtUp, ageMs: () => this.log.ageMs(), isChange };
    for (const topic of compacted) this.#views.set(topic.name, new MapView(options));
    this.#follower = this.log.follow(compacted, this);
    caughtUp().then(loaded.resolve, loaded.reject);
  }
}
