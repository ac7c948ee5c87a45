import { hash } from 'node:crypto';
import type { DeviceEvent } from './point.js';
import { fitsUtf8 } from './utf8.js';

export const maxEventValueBytes = 4096;

type Stored = Pick<DeviceEvent, 'value' | 'isJson'>;

/**
 * What is kept of an event's value: a string as it is (a lone surrogate becomes U+FFFD, as UTF-8 has none), anything else as the JSON that
 * was sent, without its blanks: numbers, escapes and keys stay as they were written. A flaw code when it is too large.
 *
 * @param json one JSON value.
 * @param value what it says; only looked at when it is a string.
 */
export function storedValue(json: string, value: unknown): Stored | 'event_value_too_large' {
  const stored: Stored =
    typeof value === 'string' ? { value: value.toWellFormed(), isJson: false } : { value: withoutBlanks(json), isJson: true };
  return fitsUtf8(stored.value, maxEventValueBytes) ? stored : 'event_value_too_large';
}

/** JSON without what stands between its tokens; what is certainly too large comes back as it is. */
function withoutBlanks(json: string): string {
  if (!/[ \t\n\r]/.test(json)) return json;
  let compact = '';
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const char = json[at]!;
    if (char === '"') isInString = !isInString;
    else if (!isInString && (char === ' ' || char === '\n' || char === '\t' || char === '\r')) continue;
    compact += isInString && char === '\\' ? char + json[++at]! : char;
    if (compact.length > maxEventValueBytes) return json;
  }
  return compact;
}

/**
 * What tells events of one source, metric and time apart: the first 8 bytes of SHA-256 over value, kind of value, tags and ordinal.
 * @param tags as `tagsKey` writes them.
 */
export function eventDigest({ ordinal, isJson, value }: DeviceEvent, tags: string): Buffer {
  return hash('sha256', `${ordinal}\0${isJson ? 'json' : 'text'}\0${tags}\0${value}`, 'buffer').subarray(0, 8);
}
