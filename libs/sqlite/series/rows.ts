import { downscale, type RollupRows } from '#model';
import type { Block, BlockWriter } from './block.js';
import { readTimes, readValues, writeSums, writeTimes, writeValues } from './columns.js';

const entryRows = 512;
const scaledSums = 1 << 13;

/**
 * Writes rows [from, to) of one series, as many entries as that needs.
 * @param scaled whether their sums, which may lie beyond the largest double, stand there times `downscale`.
 */
export function writeRows(blocks: BlockWriter, key: number, rows: RollupRows, from: number, to: number, scaled = false): void {
  for (let at = from; at < to; at += entryRows) writeEntry(blocks, key, rows, at, Math.min(to, at + entryRows), scaled);
}

function writeEntry(blocks: BlockWriter, key: number, rows: RollupRows, from: number, to: number, scaled: boolean): void {
  const { startMs, count, firstMs, lastMs, min, max, sum } = rows;
  const out = blocks.columns;
  const uneven = writeTimes(out, startMs, from, to);
  for (let at = from; at < to; at++) out.varint(count[at]!);
  for (let at = from; at < to; at++) out.varint(firstMs[at]! - startMs[at]!);
  for (let at = from; at < to; at++) out.varint(lastMs[at]! - firstMs[at]!);
  const minMode = writeValues(out, min, from, to);
  const maxMode = writeValues(out, max, from, to);
  const sumMode = writeSums(out, sum, from, to, Math.max(minMode, maxMode));
  const flags = Number(uneven) | (minMode << 1) | (maxMode << 5) | (sumMode << 9) | (scaled ? scaledSums : 0);
  blocks.entry(key, to - from, flags, startMs[from]!, startMs[to - 1]!);
}

/** Reads the entry where `block` stands and appends its rows. @param scale what their sums are multiplied by. */
export function readRows(block: Block, into: RollupRows, scale = 1): void {
  const { count, flags, columns: reader } = block;
  into.reserve(count);
  const begin = into.length;
  const end = begin + count;
  readTimes(reader, (flags & 1) !== 0, block, into.startMs, begin);
  for (let at = begin; at < end; at++) into.count[at] = reader.varint();
  for (let at = begin; at < end; at++) into.firstMs[at] = into.startMs[at]! + reader.varint();
  for (let at = begin; at < end; at++) into.lastMs[at] = into.firstMs[at]! + reader.varint();
  readValues(reader, (flags >> 1) & 15, count, into.min, begin);
  readValues(reader, (flags >> 5) & 15, count, into.max, begin);
  readValues(reader, (flags >> 9) & 15, count, into.sum, begin);
  const factor = flags & scaledSums ? scale / downscale : scale;
  if (factor !== 1) for (let at = begin; at < end; at++) into.sum[at]! *= factor;
  into.length = end;
}
