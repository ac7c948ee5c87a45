import { hash } from 'node:crypto';
import type { DeviceEvent } from './point.js';

/**
 * What tells events of one source, metric and time apart: the first 8 bytes of SHA-256 over value, kind of value, tags and ordinal.
 * @param tags as `tagsKey` writes them.
 */
export function eventDigest({ ordinal, isJson, value }: DeviceEvent, tags: string): Buffer {
  return hash('sha256', `${ordinal}\0${isJson ? 'json' : 'text'}\0${tags}\0${value}`, 'buffer').subarray(0, 8);
}
