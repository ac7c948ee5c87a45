import type { ByteReader, ByteWriter } from './bytes.js';

const powers = Array.from({ length: 10 }, (_, decimals) => 10 ** decimals);
const largest = 2 ** 51;

/** The mode of a column whose doubles are kept as they are; a smaller mode is the number of decimals of a column of decimal numbers. */
export const asDoubles = 15;

/** How many decimals write each of the values exactly, or `asDoubles` when nine are too few. */
function decimalsOf(value: Float64Array, from: number, to: number): number {
  let decimals = 0;
  let power = 1;
  for (let at = from; at < to; at++) {
    const it = value[at]!;
    for (;;) {
      const whole = Math.round(it * power);
      if (whole / power === it && Math.abs(whole) <= largest) break;
      if (++decimals === powers.length) return asDoubles;
      power = powers[decimals]!;
    }
  }
  return decimals;
}

/** Writes values [from, to) so that they read back exactly (-0 as 0) and returns the mode that reads them. */
export function writeValues(out: ByteWriter, value: Float64Array, from: number, to: number): number {
  const decimals = decimalsOf(value, from, to);
  if (decimals !== asDoubles && writeDecimals(out, value, from, to, decimals, 0)) return decimals;
  out.doubles(value.subarray(from, to));
  return asDoubles;
}

/**
 * Writes sums of numbers with that many decimals. Such a sum has no more decimals than its terms; what a double adds to it is moved by at
 * most a few units in its last place.
 */
export function writeSums(out: ByteWriter, sum: Float64Array, from: number, to: number, decimals: number): number {
  if (decimals !== asDoubles && writeDecimals(out, sum, from, to, decimals, 2 ** -49)) return decimals;
  out.doubles(sum.subarray(from, to));
  return asDoubles;
}

/** False, with nothing written, when a value does not read back within `slack` of itself. */
function writeDecimals(out: ByteWriter, value: Float64Array, from: number, to: number, decimals: number, slack: number): boolean {
  const begin = out.length;
  out.reserve(8 * (to - from));
  const { bytes } = out;
  const power = powers[decimals]!;
  let length = begin;
  let last = 0;
  for (let at = from; at < to; at++) {
    const it = value[at]!;
    const whole = Math.round(it * power);
    if (!(Math.abs(whole) <= largest) || !(Math.abs(whole / power - it) <= slack * Math.abs(it))) return false;
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
  return true;
}

/** Reads `count` values of a mode into the beginning of `into`. */
export function readValues(reader: ByteReader, mode: number, count: number, into: Float64Array): void {
  if (mode === asDoubles) return reader.doubles(into, count);
  const power = powers[mode]!;
  const { bytes } = reader;
  let { at } = reader;
  let whole = 0;
  for (let row = 0; row < count; row++) {
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

/** True when times [from, to) are evenly spaced, so that the first, the last and their number tell all of them. */
export function evenlySpaced(timeMs: Float64Array, from: number, to: number): boolean {
  const stepMs = timeMs[from + 1]! - timeMs[from]!;
  for (let at = from + 2; at < to; at++) if (timeMs[at]! - timeMs[at - 1]! !== stepMs) return false;
  return true;
}

/** Writes ascending times after the first: how much each step differs from the one before it. */
export function writeTimes(out: ByteWriter, timeMs: Float64Array, from: number, to: number): void {
  let lastStepMs = 0;
  for (let at = from + 1; at < to; at++) {
    const stepMs = timeMs[at]! - timeMs[at - 1]!;
    out.zigzag(stepMs - lastStepMs);
    lastStepMs = stepMs;
  }
}

export function readTimes(reader: ByteReader, firstMs: number, count: number, into: Float64Array): void {
  let timeMs = firstMs;
  let stepMs = 0;
  into[0] = timeMs;
  for (let row = 1; row < count; row++) {
    stepMs += reader.zigzag();
    timeMs += stepMs;
    into[row] = timeMs;
  }
}

export function spreadTimes(firstMs: number, lastMs: number, count: number, into: Float64Array): void {
  const stepMs = count > 1 ? (lastMs - firstMs) / (count - 1) : 0;
  for (let row = 0; row < count; row++) into[row] = firstMs + row * stepMs;
}

/** Writes small whole numbers that repeat: how often, and which. */
export function writeRepeats(out: ByteWriter, value: Uint32Array, from: number, to: number): void {
  let begin = from;
  for (let at = from + 1; at <= to; at++) {
    if (at < to && value[at] === value[begin]) continue;
    out.varint(at - begin);
    out.varint(value[begin]!);
    begin = at;
  }
}

export function readRepeats(reader: ByteReader, count: number, into: Uint32Array): void {
  for (let row = 0; row < count;) {
    const end = row + reader.varint();
    into.fill(reader.varint(), row, end);
    row = end;
  }
}
