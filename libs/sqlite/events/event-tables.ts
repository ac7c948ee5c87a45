import type { DatabaseSync } from 'node:sqlite';

/**
 * Rows lie in the order of arrival, so that a write appends; two narrow indexes find them. `event_identity` makes a repeated event one
 * row and serves a name filter; `event_order` serves windows and tails, and holds all that entries are ordered by: a clock that stands
 * still puts any number of them into one millisecond. Names are numbers there: they are in each row and both indexes.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS event_source(id INTEGER PRIMARY KEY, org TEXT NOT NULL, source TEXT NOT NULL, UNIQUE(org, source)) STRICT;
  CREATE TABLE IF NOT EXISTS event_metric(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS event(
    id INTEGER PRIMARY KEY, source INT NOT NULL, metric INT NOT NULL, time INT NOT NULL,
    received INT NOT NULL, place INT NOT NULL, digest BLOB NOT NULL, checksum INT NOT NULL, tags TEXT NOT NULL, value TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS event_identity ON event(source, metric, time, digest);
  CREATE INDEX IF NOT EXISTS event_order ON event(source, time, received, place, metric, digest);`;

export function createEventTables(db: DatabaseSync): void {
  db.exec(tables);
}
