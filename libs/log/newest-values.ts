import { SortedKeys } from './sorted-keys.js';
import type { StreamRecord, Unreadable } from './topic.js';
import type { Page, UnreadableKey } from './view.js';

/** The newest value of each key, from records that are taken in the order of the log. */
export class NewestValues {
  readonly #values = new Map<string, unknown>();
  /** By partition and key: what a foreign writer has put into a partition of its own choice says nothing of the key's own. */
  readonly #unreadable = new Map<string, UnreadableKey>();
  /** Sorted as they come: to sort many at the first scan would hold the event loop. */
  readonly #keys = new SortedKeys();

  get(key: string): unknown {
    return this.#values.get(key);
  }

  get size(): number {
    return this.#values.size;
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  /** Keys that begin with `prefix`, in order; one that goes meanwhile may still come. */
  startingWith(prefix: string, page?: Page): Iterable<string> {
    return this.#keys.startingWith(prefix, page);
  }

  /** How many keys begin with `prefix`. */
  count(prefix: string): number {
    return this.#keys.count(prefix);
  }

  get unreadable(): Iterable<UnreadableKey> {
    return this.#unreadable.values();
  }

  take({ partition, key, value }: Pick<StreamRecord, 'partition' | 'key' | 'value'>): void {
    if (this.#unreadable.size > 0) this.#unreadable.delete(placeOf(partition, key));
    if (value === null) this.#delete(key);
    else {
      if (!this.#values.has(key)) this.#keys.add(key);
      this.#values.set(key, value);
    }
  }

  /** Takes a record that cannot be decoded. */
  refuse({ topic, partition, offset, key, reason }: Unreadable): void {
    this.#unreadable.set(placeOf(partition, key), { topic: topic.name, partition, offset, key, reason });
    if (topic.unreadable !== 'skipped') this.#delete(key);
  }

  #delete(key: string): void {
    if (this.#values.delete(key)) this.#keys.delete(key);
  }
}

const placeOf = (partition: number, key: string): string => `${partition} ${key}`;
