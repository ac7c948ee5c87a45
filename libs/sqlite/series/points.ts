import type { ByteReader, ByteWriter } from './bytes.js';
import { evenlySpaced, readRepeats, readTimes, readValues, spreadTimes, writeRepeats, writeTimes, writeValues } from './columns.js';
import type { Block, BlockWriter } from './block.js';

/** The most points in one entry of a block. */
export const entryPoints = 2048;

/** Points of one series as columns, ascending in time. `tag` is the number of a tag set, 0 for none. */
export class Points {
  length = 0;
  readonly timeMs: Float64Array;
  readonly value: Float64Array;
  readonly tag: Uint32Array;

  constructor(capacity: number) {
    this.timeMs = new Float64Array(capacity);
    this.value = new Float64Array(capacity);
    this.tag = new Uint32Array(capacity);
  }

  append(from: Points, begin: number, end: number): void {
    for (let at = begin, to = this.length; at < end; at++, to++) {
      this.timeMs[to] = from.timeMs[at]!;
      this.value[to] = from.value[at]!;
      this.tag[to] = from.tag[at]!;
    }
    this.length += end - begin;
  }
}

const unevenTimes = 1;
const hasTags = 2;

/** Writes points [from, to), at most `entryPoints`, as an entry. */
export function writePoints(blocks: BlockWriter, series: number, points: Points, from: number, to: number): void {
  const { timeMs, value, tag } = points;
  const out: ByteWriter = blocks.columns;
  const uneven = !evenlySpaced(timeMs, from, to);
  if (uneven) writeTimes(out, timeMs, from, to);
  const mode = writeValues(out, value, from, to);
  const tagged = anyTag(tag, from, to);
  if (tagged) writeRepeats(out, tag, from, to);
  const flags = (uneven ? unevenTimes : 0) | (tagged ? hasTags : 0) | (mode << 2);
  blocks.entry(series, to - from, flags, timeMs[from]!, timeMs[to - 1]!);
}

function anyTag(tag: Uint32Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (tag[at] !== 0) return true;
  return false;
}

/** Reads the entry where `block` stands. */
export function readPoints(block: Block, reader: ByteReader, into: Points): void {
  const { count, flags, firstMs, lastMs } = block;
  reader.bytes = block.bytes;
  reader.at = block.columnsAt;
  if (flags & unevenTimes) readTimes(reader, firstMs, count, into.timeMs, 0);
  else spreadTimes(firstMs, lastMs, count, into.timeMs, 0);
  readValues(reader, flags >> 2, count, into.value, 0);
  if (flags & hasTags) readRepeats(reader, count, into.tag);
  else into.tag.fill(0, 0, count);
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
