import { Points } from './points.js';

/** Memory of a sort, kept from one to the next. */
let order = new Uint32Array(0);
let merged = new Uint32Array(0);

/** Sorts points by time and tags and keeps the last of equal ones. Returns `points` itself when they ascend already, otherwise `spare` with the result. */
export function sortPoints(points: Points, spare: Points): Points {
  if (strictlyAscends(points)) return points;
  if (order.length < points.length) {
    order = new Uint32Array(points.length);
    merged = new Uint32Array(points.length);
  }
  for (let at = 0; at < points.length; at++) order[at] = at;
  mergeAscents(points, ascents(points));
  gather(points, spare);
  return spare;
}

function strictlyAscends({ timeMs, tag, length }: Points): boolean {
  for (let at = 1; at < length; at++) {
    const lastMs = timeMs[at - 1]!;
    if (timeMs[at]! < lastMs || (timeMs[at] === lastMs && tag[at]! <= tag[at - 1]!)) return false;
  }
  return true;
}

/** Where the stretches that do not descend end. */
function ascents({ timeMs, tag, length }: Points): number[] {
  const ends: number[] = [];
  for (let at = 1; at < length; at++) {
    const lastMs = timeMs[at - 1]!;
    if (timeMs[at]! < lastMs || (timeMs[at] === lastMs && tag[at]! < tag[at - 1]!)) ends.push(at);
  }
  ends.push(length);
  return ends;
}

/** Merges neighbouring stretches of `order` until one is left; of equal points the earlier position stays first. */
function mergeAscents(points: Points, stretches: readonly number[]): void {
  let ends = stretches;
  while (ends.length > 1) {
    const longer: number[] = [];
    for (let pair = 0; pair < ends.length; pair += 2) {
      const from = ends[pair - 1] ?? 0;
      const middle = ends[pair]!;
      const to = ends[pair + 1] ?? middle;
      mergePair(points, from, middle, to);
      longer.push(to);
    }
    [order, merged] = [merged, order];
    ends = longer;
  }
}

function mergePair({ timeMs, tag }: Points, from: number, middle: number, to: number): void {
  let left = from;
  let right = middle;
  for (let at = from; at < to; at++) {
    let takeLeft = right >= to;
    if (!takeLeft && left < middle) {
      const [one, other] = [order[left]!, order[right]!];
      takeLeft = timeMs[one]! < timeMs[other]! || (timeMs[one] === timeMs[other] && tag[one]! <= tag[other]!);
    }
    merged[at] = takeLeft ? order[left++]! : order[right++]!;
  }
}

function gather(points: Points, into: Points): void {
  let to = 0;
  for (let at = 0; at < points.length; at++) {
    const from = order[at]!;
    const timeMs = points.timeMs[from]!;
    const tag = points.tag[from]!;
    if (to > 0 && into.timeMs[to - 1] === timeMs && into.tag[to - 1] === tag) to--;
    into.timeMs[to] = timeMs;
    into.value[to] = points.value[from]!;
    into.tag[to] = tag;
    to++;
  }
  into.length = to;
  into.tagSets = points.tagSets;
}
