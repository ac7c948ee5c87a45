import { utf8Order } from '#model';

/** The tag sets of points without tags: only the empty one, which has number 0. */
export const untagged: readonly string[] = [''];
const untaggedInOrder = { tagSets: untagged, places: new Uint32Array(1) };

/** Numbers for tag sets, given out as they come. A tag set is the text that `tagsKey` makes; 0 is the empty one. */
export class TagSets {
  readonly texts: string[] = [...untagged];
  readonly #numbers = new Map([['', 0]]);

  number(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }

  clear(): void {
    if (this.texts.length === 1) return;
    this.texts.length = 1;
    this.#numbers.clear();
    this.#numbers.set('', 0);
  }
}

/** Distinct tag sets in the order of their UTF-8 bytes, the empty one first, and the place of each in that order. */
export function inOrder(texts: readonly string[]): { readonly tagSets: readonly string[]; readonly places: Uint32Array } {
  if (texts.length === 1) return untaggedInOrder;
  const compare = utf8Order(texts);
  const order = Array.from(texts.keys()).sort((a, b) => compare(texts[a]!, texts[b]!));
  const places = new Uint32Array(texts.length);
  for (const [place, at] of order.entries()) places[at] = place;
  return { tagSets: order.map((at) => texts[at]!), places };
}
