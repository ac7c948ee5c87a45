import { Points } from './points.js';

let order = new Uint32Array(0);
let merged = new Uint32Array(0);

/** Sorts points by time and keeps the last of those with equal times: in `points` itself when they ascend already, else in `spare`. */
export function sortPoints(points: Points, spare: Points): Points {
  const ends = ascents(points.timeMs, points.length);
  if (ends.length === 1 && strictlyAscends(points)) return points;
  if (order.length < points.length) {
    order = new Uint32Array(points.length);
    merged = new Uint32Array(points.length);
  }
  for (let at = 0; at < points.length; at++) order[at] = at;
  mergeAscents(points.timeMs, ends);
  gather(points, spare);
  return spare;
}

/** Where the stretches of times that do not descend end. */
function ascents(timeMs: Float64Array, length: number): number[] {
  const ends: number[] = [];
  for (let at = 1; at < length; at++) if (timeMs[at]! < timeMs[at - 1]!) ends.push(at);
  ends.push(length);
  return ends;
}

function strictlyAscends({ timeMs, length }: Points): boolean {
  for (let at = 1; at < length; at++) if (timeMs[at] === timeMs[at - 1]) return false;
  return true;
}

/** Merges neighbouring stretches of `order` until one is left; of equal times the earlier position stays first. */
function mergeAscents(timeMs: Float64Array, stretches: readonly number[]): void {
  let ends = stretches;
  while (ends.length > 1) {
    const longer: number[] = [];
    for (let pair = 0; pair < ends.length; pair += 2) {
      const from = ends[pair - 1] ?? 0;
      const middle = ends[pair]!;
      const to = ends[pair + 1] ?? middle;
      mergePair(timeMs, from, middle, to);
      longer.push(to);
    }
    [order, merged] = [merged, order];
    ends = longer;
  }
}

function mergePair(timeMs: Float64Array, from: number, middle: number, to: number): void {
  let left = from;
  let right = middle;
  for (let at = from; at < to; at++) {
    const takeLeft = right >= to || (left < middle && timeMs[order[left]!]! <= timeMs[order[right]!]!);
    merged[at] = takeLeft ? order[left++]! : order[right++]!;
  }
}

function gather(points: Points, into: Points): void {
  let to = 0;
  for (let at = 0; at < points.length; at++) {
    const from = order[at]!;
    const timeMs = points.timeMs[from]!;
    if (to > 0 && into.timeMs[to - 1] === timeMs) to--;
    into.timeMs[to] = timeMs;
    into.value[to] = points.value[from]!;
    into.tag[to] = points.tag[from]!;
    to++;
  }
  into.length = to;
}
