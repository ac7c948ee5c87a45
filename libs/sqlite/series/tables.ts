import type { DatabaseSync } from 'node:sqlite';

/**
 * Blocks of runs that the `run` table does not name are left over from a merge that did not end, or from merged runs: see `sweep`.
 * `newest` repeats how far the runs reach, so that the loss of the last run is noticed too.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS run(id INTEGER PRIMARY KEY, info TEXT NOT NULL, crc INT NOT NULL);
  CREATE TABLE IF NOT EXISTS newest(id INTEGER PRIMARY KEY CHECK (id = 1), arena INT NOT NULL);
  CREATE TABLE IF NOT EXISTS block(
    run INT NOT NULL, kind INT NOT NULL, key INT NOT NULL, time_ms INT NOT NULL, number INT NOT NULL, body BLOB NOT NULL);
  CREATE UNIQUE INDEX IF NOT EXISTS block_place ON block(run, kind, key, time_ms, number);
  CREATE TABLE IF NOT EXISTS metric(id INTEGER PRIMARY KEY, name TEXT NOT NULL, crc INT NOT NULL);
  CREATE TABLE IF NOT EXISTS source(id INTEGER PRIMARY KEY, org TEXT NOT NULL, name TEXT NOT NULL, series BLOB NOT NULL, crc INT NOT NULL);
`;

export function createSeriesTables(db: DatabaseSync): void {
  db.exec(tables);
}
