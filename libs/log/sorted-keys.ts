import { compareUtf8, utf8Order } from '#model';
import type { Page } from './view.js';

const pageKeys = 512;
const wholeScan: Page = { after: '', limit: Infinity };

/** A set of keys in the order of their UTF-8 bytes: sorted pages, so that a change moves a few hundred keys and not all of them. */
export class SortedKeys {
  readonly #pages: string[][] = [[]];
  /** The quicker order, until there is a key for which it differs. */
  #order = utf8Order([]);

  add(key: string): void {
    this.#order = this.#orderWith(key);
    const [page, at] = this.#placeOf(key);
    const keys = this.#pages[page]!;
    if (keys[at] === key) return;
    keys.splice(at, 0, key);
    if (keys.length > 2 * pageKeys) this.#pages.splice(page + 1, 0, keys.splice(pageKeys));
  }

  delete(key: string): void {
    const [page, at] = this.#placeOf(key);
    const keys = this.#pages[page]!;
    if (keys[at] !== key) return;
    keys.splice(at, 1);
    if (keys.length === 0 && this.#pages.length > 1) this.#pages.splice(page, 1);
  }

  /** The keys that begin with `prefix`, as they are now. */
  startingWith(prefix: string, { after, limit } = wholeScan): string[] {
    const found: string[] = [];
    for (let [page, at] = this.#placeOf(compareUtf8(after, prefix) > 0 ? after : prefix); page < this.#pages.length; page++, at = 0) {
      const keys = this.#pages[page]!;
      if (keys[at] === after) at++;
      while (at < keys.length && found.length < limit && keys[at]!.startsWith(prefix)) found.push(keys[at++]!);
      if (at < keys.length) break;
    }
    return found;
  }

  /** How many keys begin with `prefix`, found without a look at each of them. */
  count(prefix: string): number {
    const order = this.#orderWith(prefix);
    const [first, from] = this.#placeOf(prefix);
    const [last, to] = this.#place((key) => order(key, prefix) < 0 || key.startsWith(prefix));
    return this.#pages.slice(first, last).reduce((sum, { length }) => sum + length, to - from);
  }

  /** Page and index of `key`, or where it belongs. */
  #placeOf(key: string): readonly [page: number, at: number] {
    const order = this.#orderWith(key);
    return this.#place((other) => order(other, key) < 0);
  }

  #place(isBefore: (key: string) => boolean): readonly [page: number, at: number] {
    const page = firstNot(this.#pages.length - 1, (at) => isBefore(this.#pages[at]!.at(-1)!));
    const keys = this.#pages[page]!;
    return [page, firstNot(keys.length, (at) => isBefore(keys[at]!))];
  }

  #orderWith(key: string): typeof compareUtf8 {
    return this.#order === compareUtf8 ? compareUtf8 : utf8Order([key]);
  }
}

/** The first of so many indexes for which it is false, when it is true for all before; the length when it is true for all. */
function firstNot(length: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isTrue(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
