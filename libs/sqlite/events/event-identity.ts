import { crc32 } from 'node:zlib';

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
