import type { View } from './view.js';

/** The values of a view by what they belong to, which is not how their keys begin. */
export class Grouped<V> {
  readonly #groupOf = new Map<string, string>();
  readonly #valuesOf = new Map<string, Map<string, V>>();

  /** @param view is ready: what it reads at its start is not told as a change. */
  constructor(
    view: View<V>,
    private readonly groupOf: (value: V) => string,
  ) {
    view.changes(({ key, value }) => this.#set(key, value));
    for (const [key, value] of view.scan('')) this.#set(key, value);
  }

  /** The values of a group, in no order. */
  of(group: string): Iterable<V> {
    return this.mapOf(group).values();
  }

  /** The values of a group by their keys. */
  mapOf(group: string): ReadonlyMap<string, V> {
    return this.#valuesOf.get(group) ?? new Map<string, V>();
  }

  #set(key: string, value: V | null): void {
    const before = this.#groupOf.get(key);
    const siblings = before === undefined ? undefined : this.#valuesOf.get(before);
    if (siblings?.delete(key) && siblings.size === 0) this.#valuesOf.delete(before!);
    this.#groupOf.delete(key);
    if (value === null) return;
    const group = this.groupOf(value);
    this.#groupOf.set(key, group);
    const values = this.#valuesOf.get(group);
    if (values) values.set(key, value);
    else this.#valuesOf.set(group, new Map([[key, value]]));
  }
}
