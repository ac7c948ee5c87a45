import { compareUtf8 } from '#model';
import { readTags, readTimes, readValues, writeTags, writeTimes, writeValues } from './columns.js';
import type { Block, BlockWriter } from './block.js';
import { untagged } from './tag-sets.js';

/** The most points in one entry of a block. */
export const entryPoints = 2048;

/** Points of one series as columns, in the order of time and tags unless said otherwise. */
export class Points {
  length = 0;
  readonly timeMs: Float64Array;
  readonly value: Float64Array;
  /** Positions in `tagSets`. */
  readonly tag: Uint32Array;
  /** Texts of `tagsKey` in the order of their UTF-8 bytes, the empty one first; `untagged` when no point has tags. */
  tagSets: readonly string[] = untagged;

  constructor(capacity: number) {
    this.timeMs = new Float64Array(capacity);
    this.value = new Float64Array(capacity);
    this.tag = new Uint32Array(capacity);
  }
}

/** Orders two points of one time by their tags: negative, zero when they are the same point, or positive. */
export function compareTags(a: Points, at: number, b: Points, other: number): number {
  const left = a.tag[at]!;
  const right = b.tag[other]!;
  if (left === 0 || right === 0 || a.tagSets === b.tagSets) return left - right;
  return compareUtf8(a.tagSets[left]!, b.tagSets[right]!);
}

const unevenTimes = 1;
const hasTags = 2;

/** Writes points [from, to), at most `entryPoints`, as an entry. */
export function writePoints(blocks: BlockWriter, series: number, points: Points, from: number, to: number): void {
  const { timeMs, value, tag } = points;
  const out = blocks.columns;
  const uneven = writeTimes(out, timeMs, from, to);
  const mode = writeValues(out, value, from, to);
  const tagged = points.tagSets !== untagged;
  if (tagged) writeTags(out, points.tagSets, tag, from, to);
  const flags = (uneven ? unevenTimes : 0) | (tagged ? hasTags : 0) | (mode << 2);
  blocks.entry(series, to - from, flags, timeMs[from]!, timeMs[to - 1]!);
}

/** Reads the entry where `block` stands. */
export function readPoints(block: Block, into: Points): void {
  const { count, flags, columns: reader } = block;
  readTimes(reader, (flags & unevenTimes) !== 0, block, into.timeMs, 0);
  readValues(reader, flags >> 2, count, into.value, 0);
  if (flags & hasTags) into.tagSets = readTags(reader, count, into.tag);
  else {
    into.tagSets = untagged;
    into.tag.fill(0, 0, count);
  }
  into.length = count;
}

/** The first of the ascending times [from, to) at or after `timeMs`, or `to`. */
export function lowerBound(times: Float64Array, timeMs: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! < timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
