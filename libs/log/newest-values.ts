import { SortedKeys } from './sorted-keys.js';
import type { StreamRecord } from './topic.js';

/** The newest value of each key, from records that are taken in the order of the log. */
export class NewestValues {
  readonly #values = new Map<string, unknown>();
  /** Made at the first scan: a view that is only asked for keys does without. */
  #keys: SortedKeys | undefined;

  get(key: string): unknown {
    return this.#values.get(key);
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  /** Keys that begin with `prefix`, in order; one that goes meanwhile may still come. */
  startingWith(prefix: string): Iterable<string> {
    this.#keys ??= new SortedKeys(this.#values.keys());
    return this.#keys.startingWith(prefix);
  }

  take({ key, value }: Pick<StreamRecord, 'key' | 'value'>): void {
    if (value === null) {
      if (this.#values.delete(key)) this.#keys?.delete(key);
    } else {
      if (!this.#values.has(key)) this.#keys?.add(key);
      this.#values.set(key, value);
    }
  }
}
