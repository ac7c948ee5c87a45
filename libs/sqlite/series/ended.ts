import type { DatabaseSync } from 'node:sqlite';
import { checkRow, columnsChecksum } from '../checksum.js';

/** Series that a deletion has ended: nobody has their numbers any more, and merges leave their points out. */
export interface EndedSeries {
  /** Of the deletion. */
  readonly offset: number;
  /** The highest number that a series had by then: those with a higher one began after the deletion. */
  readonly lastSeries: number;
  readonly series: Uint32Array;
}

/** A row for each deletion that has ended series, with their numbers: a number without a name that is in no such row was lost. */
export const endedTable = `
  CREATE TABLE IF NOT EXISTS ended(id INTEGER PRIMARY KEY, offset INT NOT NULL, last INT NOT NULL, series BLOB NOT NULL, crc INT NOT NULL);
`;

export function insertEnded(db: DatabaseSync, { offset, lastSeries, series }: EndedSeries): void {
  const numbers = new Uint8Array(series.buffer, series.byteOffset, series.byteLength);
  const crc = columnsChecksum(offset, lastSeries, numbers);
  db.prepare('INSERT INTO ended(offset, last, series, crc) VALUES (?, ?, ?, ?)').run(offset, lastSeries, numbers, crc);
}

/** What ended series leave behind. */
export interface EndedRows {
  readonly series: number;
  /** Deletions by offset. */
  readonly deletions: readonly Omit<EndedSeries, 'series'>[];
}

/** @throws TelemetryError `store_corrupt` when a row is damaged. */
export function readEnded(db: DatabaseSync): EndedRows {
  let series = 0;
  const deletions: Omit<EndedSeries, 'series'>[] = [];
  for (const row of db.prepare('SELECT offset, last, series, crc FROM ended ORDER BY offset').iterate()) {
    const { offset, last, series: numbers, crc } = row as unknown as { offset: number; last: number; series: Uint8Array; crc: number };
    checkRow('ended series', crc, offset, last, numbers);
    series += numbers.byteLength / 4;
    deletions.push({ offset, lastSeries: last });
  }
  return { series, deletions };
}

/**
 * Knows which series began only after a record. A store that is made again begins with the names of the old one, which come from the end of the log, and
 * then takes the log from an earlier place on. A point or deletion from there must not go to a series that began after a deletion that comes later.
 */
export class LaterSeries {
  readonly #deletions: readonly Omit<EndedSeries, 'series'>[];
  #next = 0;

  /**
   * @param deletions that are still to come in the log, by offset.
   * @param newest the highest number of a series that the store had at its start: those that it makes begin with the record that it takes.
   */
  constructor(
    deletions: readonly Omit<EndedSeries, 'series'>[],
    private readonly newest: number,
  ) {
    let lastSeries = Infinity;
    // What began after one deletion began after all that come before that.
    this.#deletions = deletions
      .toReversed()
      .map(({ offset, lastSeries: its }) => ({ offset, lastSeries: (lastSeries = Math.min(lastSeries, its)) }))
      .toReversed();
  }

  /** Ask by ascending offsets. */
  has(series: number, offset: number): boolean {
    while (this.#next < this.#deletions.length && this.#deletions[this.#next]!.offset < offset) this.#next++;
    const next = this.#deletions[this.#next];
    return next !== undefined && series > next.lastSeries && series <= this.newest;
  }
}
