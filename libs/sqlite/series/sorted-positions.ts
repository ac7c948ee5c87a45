/** Positions of values in the order of the values, equal ones in the order of their positions. It counts up to the largest value: use it for small ones. */
export function positionsBySmallValue(values: Uint32Array): Uint32Array {
  let largest = 0;
  for (let at = 0; at < values.length; at++) largest = Math.max(largest, values[at]!);
  const next = new Uint32Array(largest + 2);
  for (let at = 0; at < values.length; at++) next[values[at]! + 1]!++;
  for (let value = 1; value < next.length; value++) next[value]! += next[value - 1]!;
  const positions = new Uint32Array(values.length);
  for (let at = 0; at < values.length; at++) positions[next[values[at]!]!++] = at;
  return positions;
}
