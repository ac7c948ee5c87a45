/** Items that wait, by key. The keys take turns, one item a turn, so that a key with many items delays the others by one item each. */
export class FairQueue<T> {
  /** In the order of turns; a key without items is not in it. */
  readonly #waiting = new Map<string, T[]>();

  add(key: string, item: T): void {
    const items = this.#waiting.get(key);
    if (items) items.push(item);
    else this.#waiting.set(key, [item]);
  }

  /** The oldest item of the key whose turn it is; undefined when nothing waits. */
  take(): T | undefined {
    const next = this.#waiting.entries().next();
    if (next.done) return undefined;
    const [key, items] = next.value;
    const item = items.shift();
    this.#waiting.delete(key);
    // Back of the queue.
    if (items.length > 0) this.#waiting.set(key, items);
    return item;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }
}
