import { Global, Module, type DynamicModule } from '@nestjs/common';
import { CLOCK, type Clock, MONOTONIC_CLOCK, type MonotonicClock, Outbound } from '#edge';
import { compareUtf8 } from '#model';
import { noOutbound } from './no-outbound.js';
import {
  RECORD_LOG,
  untilShown,
  VIEWS,
  type Change,
  type Entry,
  type Following,
  type FollowOptions,
  type Page,
  type RecordLog,
  type StreamRecord,
  type Topic,
  type UnreadableKey,
  type View,
  type Views,
} from '#log';
import { GENERATIONS, onlyGeneration, type Stores } from '#stores';

/** A log in memory that keeps what was appended: enough for the faces, which only append and look at views. */
export class MemoryLog implements RecordLog, Views {
  readonly entries: Entry[] = [];
  readonly #views = new Map<string, MemoryView>();
  readonly #tails = new Set<FollowOptions>();
  readonly unreadable: UnreadableKey[] = [];
  /** Set to make appends fail. */
  failure: Error | undefined;
  /** Set to hold views and followers back: they show nothing of what is appended meanwhile. */
  isHeldBack = false;
  /** How long ago the views have heard the log, milliseconds. */
  silentMs = 0;

  append(entries: readonly Entry[]): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    for (const one of entries) {
      this.entries.push(one);
      if (this.isHeldBack) continue;
      this.#views.get(one.topic.name)?.set({ key: one.key, value: one.value });
      for (const { topics, take } of this.#tails) {
        if (topics.includes(one.topic)) void take([recordOf(one, this.entries.length)]);
      }
    }
    return Promise.resolve();
  }

  appendBytes(): Promise<void> {
    return Promise.reject(new Error('not in memory'));
  }

  encoded(): never {
    throw new Error('not in memory');
  }

  consume(): Promise<never> {
    return Promise.reject(new Error('not in memory'));
  }

  /** Whatever is appended from now on, whatever it is asked to begin with. */
  follow(options: FollowOptions): Following {
    this.#tails.add(options);
    return {
      caughtUp: () => Promise.resolve(),
      ageMs: () => this.silentMs,
      lag: () => 0,
      positions: () => [],
      stop: () => {
        this.#tails.delete(options);
        return Promise.resolve();
      },
    };
  }

  history(): Promise<never> {
    return Promise.reject(new Error('not in memory'));
  }

  open<V>(topic: Topic<V>): View<V> {
    let view = this.#views.get(topic.name);
    if (!view) this.#views.set(topic.name, (view = new MemoryView(this)));
    return view as View<unknown> as View<V>;
  }

  unreadableKeys(): readonly UnreadableKey[] {
    return this.unreadable;
  }

  values<V>(topic: Topic<V>): V[] {
    return this.entries.filter((one) => one.topic.name === topic.name).map((one) => one.value as V);
  }
}

const recordOf = ({ topic, key, value, headers = {} }: Entry, offset: number): StreamRecord => ({
  topic,
  key,
  value,
  headers,
  offset,
  partition: 0,
  appendedMs: Date.now(),
  bytes: 0,
});

class MemoryView implements View<unknown> {
  readonly ready = Promise.resolve();
  readonly #values = new Map<string, unknown>();
  readonly #listeners = new Set<(change: Change<unknown>) => void>();

  constructor(private readonly log: Pick<MemoryLog, 'silentMs'>) {}

  until(key: string, predicate: (value: unknown) => boolean, ms: number): Promise<unknown> {
    return untilShown(this, key, predicate, ms);
  }

  caughtUp(): Promise<void> {
    return Promise.resolve();
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  get size(): number {
    return this.#values.size;
  }

  scan(prefix: string, { after = '', limit = Infinity }: Partial<Page> = {}): [string, unknown][] {
    return Array.from(this.#values)
      .filter(([key]) => key.startsWith(prefix) && compareUtf8(key, after) > 0)
      .toSorted(([a], [b]) => compareUtf8(a, b))
      .slice(0, limit);
  }

  count(prefix: string): number {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).length;
  }

  changes(listener: (change: Change<unknown>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  ageMs(): number {
    return this.log.silentMs;
  }

  set(change: Change<unknown>): void {
    if (change.value === null) this.#values.delete(change.key);
    else this.#values.set(change.key, change.value);
    for (const listener of this.#listeners) listener(change);
  }
}

/** Stores that nobody asks, for roles that open them. */
@Global()
@Module({ providers: [{ provide: GENERATIONS, useValue: onlyGeneration({} as Stores) }], exports: [GENERATIONS] })
export class NoStoresModule {}

@Module({})
export class MemoryModule {
  static of(log: MemoryLog, clock: Clock = Date.now, monotonic: MonotonicClock = () => performance.now()): DynamicModule {
    const values: [symbol | typeof Outbound, unknown][] = [
      [RECORD_LOG, log],
      [VIEWS, log],
      [CLOCK, clock],
      [Outbound, noOutbound],
      [MONOTONIC_CLOCK, monotonic],
    ];
    const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
    return { module: MemoryModule, global: true, providers, exports: providers };
  }
}
