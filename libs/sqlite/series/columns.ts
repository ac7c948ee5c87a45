import type { ByteReader, ByteWriter } from './bytes.js';
import { untagged } from './tag-sets.js';

const powers = Array.from({ length: 10 }, (_, decimals) => 10 ** decimals);
const largest = 2 ** 51;

/** The mode of a column of plain doubles. Any smaller mode is the number of decimals of a column of decimal numbers. */
export const asDoubles = 15;

/** The values of the column that is being written, as whole numbers of its last decimal; kept from one column to the next. */
let wholes = new Float64Array(4096);

/**
 * Fills `wholes` with values [from, to), with the fewest decimals that keep each value within `slack` of itself. Returns the number of decimals,
 * or `asDoubles` when nine are too few.
 */
function toWholes(value: Float64Array, from: number, to: number, fewest: number, slack: number): number {
  if (wholes.length < to - from) wholes = new Float64Array(to - from);
  for (let decimals = fewest; decimals < powers.length; decimals++) {
    const power = powers[decimals]!;
    let at = from;
    for (; at < to; at++) {
      const it = value[at]!;
      const whole = Math.round(it * power);
      if (!(Math.abs(whole / power - it) <= slack * Math.abs(it)) || Math.abs(whole) > largest) break;
      wholes[at - from] = whole;
    }
    if (at === to) return decimals;
  }
  return asDoubles;
}

/** Writes values [from, to) so that they read back exactly (-0 as 0) and returns the mode that reads them. */
export function writeValues(out: ByteWriter, value: Float64Array, from: number, to: number): number {
  const decimals = toWholes(value, from, to, 0, 0);
  if (decimals === asDoubles) out.doubles(value.subarray(from, to));
  else writeWholes(out, to - from);
  return decimals;
}

/**
 * Writes sums of numbers with that many decimals. Such a sum has no more decimals than its terms. Rounding to them moves a double by at most a
 * few units in its last place.
 */
export function writeSums(out: ByteWriter, sum: Float64Array, from: number, to: number, decimals: number): number {
  const mode = toWholes(sum, from, to, decimals, 2 ** -49);
  if (mode === asDoubles) out.doubles(sum.subarray(from, to));
  else writeWholes(out, to - from);
  return mode;
}

/**
 * Writes the first `count` of `wholes`: how much each differs from the one before it, in varints whose lowest bit is the sign. `ByteWriter.zigzag` would
 * write the same, and load and store the place in the buffer for each number.
 */
function writeWholes(out: ByteWriter, count: number): void {
  out.reserve(8 * count);
  const { bytes } = out;
  let { length } = out;
  let last = 0;
  for (let at = 0; at < count; at++) {
    const whole = wholes[at]!;
    const delta = whole - last;
    last = whole;
    let rest = delta < 0 ? -2 * delta - 1 : 2 * delta;
    while (rest >= 0x8000_0000) {
      bytes[length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    let low = rest | 0;
    while (low >= 128) {
      bytes[length++] = (low & 127) | 128;
      low >>>= 7;
    }
    bytes[length++] = low;
  }
  out.length = length;
}

/** Reads `count` values of a mode into `into` from `from` on, in a loop of its own for the same reason as `writeWholes`. */
export function readValues(reader: ByteReader, mode: number, count: number, into: Float64Array, from: number): void {
  if (mode === asDoubles) return reader.doubles(into, from, count);
  const power = powers[mode]!;
  const { bytes } = reader;
  let { at } = reader;
  let whole = 0;
  for (let row = from; row < from + count; row++) {
    let byte = bytes[at++]!;
    let low = byte & 127;
    for (let shift = 7; byte >= 128 && shift < 28; shift += 7) {
      byte = bytes[at++]!;
      low |= (byte & 127) << shift;
    }
    if (byte < 128) whole += (low >>> 1) ^ -(low & 1);
    else {
      let wide = low;
      for (let scale = 2 ** 28; byte >= 128; scale *= 128) {
        byte = bytes[at++]!;
        wide += (byte & 127) * scale;
      }
      whole += wide % 2 === 0 ? wide / 2 : -(wide + 1) / 2;
    }
    into[row] = whole / power;
  }
  reader.at = at;
}

/**
 * Writes ascending times after the first: how much each step differs from the one before it. Writes nothing and returns false when they are
 * evenly spaced, because the first, the last and their number then give all of them.
 */
export function writeTimes(out: ByteWriter, timeMs: Float64Array, from: number, to: number): boolean {
  if (evenlySpaced(timeMs, from, to)) return false;
  let lastStepMs = 0;
  for (let at = from + 1; at < to; at++) {
    const stepMs = timeMs[at]! - timeMs[at - 1]!;
    out.zigzag(stepMs - lastStepMs);
    lastStepMs = stepMs;
  }
  return true;
}

function evenlySpaced(timeMs: Float64Array, from: number, to: number): boolean {
  const stepMs = timeMs[from + 1]! - timeMs[from]!;
  for (let at = from + 2; at < to; at++) if (timeMs[at]! - timeMs[at - 1]! !== stepMs) return false;
  return true;
}

/** Where a column of times begins and ends. */
interface TimeSpan {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

/** Reads the times of a span into `into` from `from` on; `written` is what `writeTimes` returned. */
export function readTimes(
  reader: ByteReader,
  written: boolean,
  { firstMs, lastMs, count }: TimeSpan,
  into: Float64Array,
  from: number,
): void {
  if (!written) return spreadTimes(firstMs, lastMs, count, into, from);
  let timeMs = firstMs;
  let stepMs = 0;
  into[from] = timeMs;
  for (let row = from + 1; row < from + count; row++) {
    stepMs += reader.zigzag();
    timeMs += stepMs;
    into[row] = timeMs;
  }
}

function spreadTimes(firstMs: number, lastMs: number, count: number, into: Float64Array, from: number): void {
  const stepMs = count > 1 ? (lastMs - firstMs) / (count - 1) : 0;
  for (let row = 0; row < count; row++) into[from + row] = firstMs + row * stepMs;
}

/** Writes tag sets, without the empty first one, and the tag sets of rows [from, to) as pairs: how many rows, and the number of their tag set. */
export function writeTags(out: ByteWriter, tagSets: readonly string[], tag: Uint32Array, from: number, to: number): void {
  out.varint(tagSets.length - 1);
  for (let at = 1; at < tagSets.length; at++) out.text(tagSets[at]!);
  let begin = from;
  for (let at = from + 1; at <= to; at++) {
    if (at < to && tag[at] === tag[begin]) continue;
    out.varint(at - begin);
    out.varint(tag[begin]!);
    begin = at;
  }
}

/** Reads the tag sets and, into `tag`, which of them each row has. */
export function readTags(reader: ByteReader, count: number, tag: Uint32Array): readonly string[] {
  const tagSets = [...untagged];
  for (let left = reader.varint(); left > 0; left--) tagSets.push(reader.text());
  for (let row = 0; row < count;) {
    const end = row + reader.varint();
    for (const number = reader.varint(); row < end; row++) tag[row] = number;
  }
  return tagSets;
}
