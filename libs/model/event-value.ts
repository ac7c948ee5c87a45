import type { DeviceEvent } from './point.js';
import { fitsUtf8 } from './utf8.js';

export const maxEventValueBytes = 4096;

type Stored = Pick<DeviceEvent, 'value' | 'isJson'>;

/**
 * What is kept of an event's value: a string as it is (a lone surrogate becomes U+FFFD, as UTF-8 has none), anything else as compact
 * JSON. A flaw code when the value cannot be kept.
 */
export function storedValue(value: unknown): Stored | 'missing_value' | 'invalid_event_value' | 'event_value_too_large' {
  if (value === undefined) return 'missing_value';
  if (value === null) return 'invalid_event_value';
  const stored: Stored =
    typeof value === 'string' ? { value: value.toWellFormed(), isJson: false } : { value: JSON.stringify(value), isJson: true };
  if (!fitsUtf8(stored.value, maxEventValueBytes)) return 'event_value_too_large';
  if (stored.isJson && stored.value.includes('null') && hasInfinity(value)) return 'invalid_event_value';
  return stored;
}

/** JSON.parse turns 1e400 into Infinity, which JSON.stringify would keep as null. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity);
}
