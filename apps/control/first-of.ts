import type { Steps } from '#model';

/**
 * The first of what comes page by page, in the order of the places that `placeOf` gives; one more than the limit when there are more. A step for
 * each page.
 */
export function* firstOf<Thing>(
  pages: Iterable<readonly Thing[]>,
  placeOf: (thing: Thing) => string,
  limit: number,
): Steps<readonly Thing[]> {
  let found: { readonly thing: Thing; readonly place: string }[] = [];
  const cut = (): void => void (found = found.sort((a, b) => (a.place < b.place ? -1 : 1)).slice(0, limit + 1));
  for (const page of pages) {
    for (const thing of page) found.push({ thing, place: placeOf(thing) });
    if (found.length > 4 * limit) cut();
    yield;
  }
  cut();
  return found.map(({ thing }) => thing);
}
