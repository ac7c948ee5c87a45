import { crc32 } from 'node:zlib';

/** An event as a row, with the names that its ids stand for. */
export interface EventRow {
  readonly orgId: string;
  readonly sourceId: string;
  readonly metric: string;
  readonly timestampMs: number;
  readonly receivedMs: number;
  readonly place: number;
  /** As `tagsKey` writes them. */
  readonly tags: string;
  readonly value: string;
}

/** CRC-32 of all that a reader sees of a row. SQLite notices a broken tree, but not a changed byte in a value. */
export function eventCheck(row: EventRow): number {
  const { orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value } = row;
  return crc32([orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value].join('\0'));
}
