import { compareUtf8 } from '#model';
import type { Page } from './view.js';

const pageKeys = 512;
const wholeScan: Page = { after: '', limit: Infinity };

/** A set of keys in the order of their UTF-8 bytes: sorted pages, so that a change moves a few hundred keys and not all of them. */
export class SortedKeys {
  #pages: string[][] = [];

  constructor(keys: Iterable<string>) {
    const sorted = [...keys].sort();
    // The default order is that of code units, which differs only where there are surrogates.
    if (sorted.some((key) => /[\ud800-\udfff]/.test(key))) sorted.sort(compareUtf8);
    for (let at = 0; at < sorted.length; at += pageKeys) this.#pages.push(sorted.slice(at, at + pageKeys));
  }

  add(key: string): void {
    if (this.#pages.length === 0) this.#pages.push([]);
    const page = this.#pageOf(key);
    const keys = this.#pages[page]!;
    const at = place(keys, key);
    if (keys[at] === key) return;
    keys.splice(at, 0, key);
    if (keys.length > 2 * pageKeys) this.#pages.splice(page + 1, 0, keys.splice(pageKeys));
  }

  delete(key: string): void {
    const page = this.#pageOf(key);
    const keys = this.#pages[page];
    const at = keys ? place(keys, key) : 0;
    if (keys?.[at] !== key) return;
    keys.splice(at, 1);
    if (keys.length === 0) this.#pages.splice(page, 1);
  }

  /** The keys that begin with `prefix`, as they are now. */
  startingWith(prefix: string, { after, limit } = wholeScan): string[] {
    const found: string[] = [];
    const from = compareUtf8(after, prefix) > 0 ? after : prefix;
    let page = this.#pageOf(from);
    for (let at = place(this.#pages[page] ?? [], from); page < this.#pages.length; page++, at = 0) {
      const keys = this.#pages[page]!;
      if (keys[at] === after) at++;
      while (at < keys.length && found.length < limit && keys[at]!.startsWith(prefix)) found.push(keys[at++]!);
      if (at < keys.length) break;
    }
    return found;
  }

  /** The last page that begins at or before `key`, or the first one. */
  #pageOf(key: string): number {
    let [low, high] = [0, this.#pages.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (compareUtf8(this.#pages[middle]![0]!, key) <= 0) low = middle;
      else high = middle;
    }
    return low;
  }
}

/** Index of `key` in `keys`, or where it belongs. */
function place(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareUtf8(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
