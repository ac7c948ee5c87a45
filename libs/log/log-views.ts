import { MapView } from './map-view.js';
import type { RecordLog } from './record-log.js';
import type { AnyTopic, Topic } from './topic.js';
import type { UnreadableKey, View, Views } from './view.js';

/** The compacted topics of a log, each followed once somebody opens it. */
export class LogViews implements Views {
  readonly #open = new Map<string, MapView>();

  constructor(
    private readonly log: Pick<RecordLog, 'follow'>,
    private readonly topics: readonly AnyTopic[],
  ) {}

  open<V>(topic: Topic<V>): View<V> {
    let view = this.#open.get(topic.name);
    if (!view) {
      const known = this.topics.find(({ name }) => name === topic.name);
      if (known?.cleanup !== 'compact') throw new Error(`${topic.name} is not a compacted topic of this log`);
      this.#open.set(topic.name, (view = new MapView(this.log, known)));
    }
    return view as View<unknown> as View<V>;
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return [...this.#open.values()].flatMap((view) => view.unreadableKeys());
  }

  /** Records that each view has not taken yet, by topic. */
  lags(): readonly (readonly [topic: string, records: number])[] {
    return Array.from(this.#open, ([topic, view]) => [topic, view.lag()] as const);
  }
}
