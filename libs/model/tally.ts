/** Counts more of something, or fewer, by its name; of what there is none no name is kept. Returns how many there are then. */
export function tally(counts: Map<string, number>, name: string, more: number): number {
  const count = (counts.get(name) ?? 0) + more;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
  return count;
}
