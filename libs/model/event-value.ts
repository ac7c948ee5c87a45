import { hash } from 'node:crypto';
import { backslash, quote } from './json-bytes.js';
import { fitsUtf8 } from './names.js';
import type { DeviceEvent } from './point.js';

export const maxEventValueBytes = 4096;

type Stored = Pick<DeviceEvent, 'value' | 'isJson'>;

/** A byte written as `\u0000` takes six. */
const maxStringBytes = 6 * maxEventValueBytes + 2;
const compact = Buffer.allocUnsafe(maxEventValueBytes);

/**
 * What is kept of an event's value: a string as it is (a lone surrogate becomes U+FFFD, as UTF-8 has none), anything else as the JSON that
 * was sent, without its blanks: numbers, escapes and keys stay as they were written. A flaw code when it is too large.
 *
 * @param bytes hold one JSON value at [start, end).
 */
export function storedValue(bytes: Buffer, start: number, end: number): Stored | 'event_value_too_large' {
  if (bytes[start] === quote) {
    if (end - start > maxStringBytes) return 'event_value_too_large';
    const value = (JSON.parse(bytes.toString('utf8', start, end)) as string).toWellFormed();
    return fitsUtf8(value, maxEventValueBytes) ? { value, isJson: false } : 'event_value_too_large';
  }
  if (end - start <= maxEventValueBytes) {
    const value = bytes.toString('utf8', start, end);
    // Most JSON is written without blanks, and to copy it byte by byte takes several times as long.
    if (!/[\t\n\r ]/.test(value)) return { value, isJson: true };
  }
  const length = copyWithoutBlanks(bytes, start, end);
  return length > maxEventValueBytes ? 'event_value_too_large' : { value: compact.toString('utf8', 0, length), isJson: true };
}

/** Copies JSON without what stands between its tokens to `compact`, as far as there is room; returns its length, or one that is too large. */
function copyWithoutBlanks(bytes: Buffer, start: number, end: number): number {
  let length = 0;
  let isInString = false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === quote) isInString = !isInString;
    else if (!isInString && byte <= 0x20) continue;
    if (length === maxEventValueBytes) return length + 1;
    compact[length++] = byte;
    if (isInString && byte === backslash) {
      if (length === maxEventValueBytes) return length + 1;
      compact[length++] = bytes[++at]!;
    }
  }
  return length;
}

/** What tells events of one source, metric and time apart: the first 8 bytes of SHA-256 over value, kind of value, tags and ordinal. */
export function eventDigest({ ordinal, isJson, tags, value }: Pick<DeviceEvent, 'ordinal' | 'isJson' | 'tags' | 'value'>): Buffer {
  // As a string, because a buffer of its own for each would take longer than the digest.
  const digest = hash('sha256', `${ordinal}\0${isJson ? 'json' : 'text'}\0${tags}\0${value}`, 'hex');
  return Buffer.from(digest.slice(0, 16), 'hex');
}
