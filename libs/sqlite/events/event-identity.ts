import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { DeviceEvent } from '#model';

/**
 * What tells events of one source, metric and time apart: the first 8 bytes of SHA-256 over value, kind of value, tags and ordinal.
 * @param tags as `tagsKey` writes them.
 */
export function eventDigest({ ordinal, isJson, value }: DeviceEvent, tags: string): Uint8Array {
  return hash('sha256', `${ordinal}\0${isJson ? 'json' : 'text'}\0${tags}\0${value}`, 'buffer').subarray(0, 8);
}

/** An event as a row, with the names that its ids stand for. */
export interface EventRow {
  readonly orgId: string;
  readonly sourceId: string;
  readonly metric: string;
  readonly timestampMs: number;
  readonly place: number;
  /** As `tagsKey` writes them. */
  readonly tags: string;
  readonly value: string;
}

/** CRC-32 of all that a reader sees of a row. SQLite notices a broken tree, but not a changed byte in a value. */
export function eventCheck(row: EventRow): number {
  return crc32(`${row.orgId}\0${row.sourceId}\0${row.metric}\0${row.timestampMs}\0${row.place}\0${row.tags}\0${row.value}`);
}
