/** What there is, by id: a `Map`, or what a view shows. */
export type Known<Thing> = Pick<ReadonlyMap<string, Thing>, 'get' | 'size' | 'values'>;

/** The same with one thing as it is from now on, or without it. Copies nothing: there may be very many. */
export function knownWith<Thing extends object>(known: Known<Thing>, id: string, after: Thing | undefined): Known<Thing> {
  const before = known.get(id);
  return {
    size: known.size + Number(after !== undefined) - Number(before !== undefined),
    get: (one) => (one === id ? after : known.get(one)),
    values: () => othersAnd(known, before, after),
  };
}

function* othersAnd<Thing>(known: Known<Thing>, before: Thing | undefined, after: Thing | undefined): MapIterator<Thing> {
  for (const one of known.values()) if (one !== before) yield one;
  if (after !== undefined) yield after;
}
