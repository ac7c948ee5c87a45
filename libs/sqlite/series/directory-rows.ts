import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { checkRow, columnsChecksum } from '../checksum.js';

/**
 * The index finds a source by its name, and holds all that is counted at the start, so that no row of the table is read for it. Versions that do not
 * use it keep it right all the same. `metric_maker` says which organization was the first to have a metric; of those that earlier versions made it does not.
 */
export const nameTables = `
  CREATE INDEX IF NOT EXISTS source_name ON source(org, name, length(series));
  CREATE TABLE IF NOT EXISTS metric_maker(id INTEGER PRIMARY KEY, org TEXT NOT NULL, crc INT NOT NULL);
`;

/**
 * Names by number, as columns: handing a thread an object and a buffer for each source would cost several times as much. Sources, metrics and series are
 * numbered from 1 on as they are first seen.
 */
export interface DirectoryColumns {
  /** The numbers of the metrics follow each other from this one on. */
  readonly firstMetric: number;
  readonly metrics: readonly string[];
  /** The organization that was the first to have each. */
  readonly makers: readonly string[];
  readonly ids: ArrayLike<number>;
  readonly orgIds: readonly string[];
  readonly sourceIds: readonly string[];
  /** The metric and the series number of each series in turn, source after source, and where those of each source end. */
  readonly pairs: Uint32Array;
  readonly ends: ArrayLike<number>;
  /** The numbers of sources that there are no more. */
  readonly forgotten: readonly number[];
}

/** How many names an organization has. */
export interface NameCount {
  readonly orgId: string;
  readonly sources: number;
  /** Bytes of the names of its sources. */
  readonly nameBytes: number;
  readonly series: number;
}

/** What is known of the names in a store when it is opened. */
export interface OpenedNames {
  /** By their numbers, from 1 on. */
  readonly metrics: readonly string[];
  /** The organization that was the first to have each, where it is known. */
  readonly makers: readonly (string | undefined)[];
  readonly counts: readonly NameCount[];
  /** The highest number of a source. */
  readonly lastSource: number;
  /** The highest number that a series has or had. */
  readonly lastSeries: number;
}

/** Inserts new metrics, and sources with what they have now, and removes those that are forgotten. */
export function writeDirectory(
  db: DatabaseSync,
  { firstMetric, metrics, makers, ids, orgIds, sourceIds, pairs, ends, forgotten }: DirectoryColumns,
): void {
  const remove = db.prepare('DELETE FROM source WHERE id = ?');
  for (const id of forgotten) remove.run(id);
  const metric = db.prepare('INSERT INTO metric(id, name, crc) VALUES (?, ?, ?)');
  const maker = db.prepare('INSERT INTO metric_maker(id, org, crc) VALUES (?, ?, ?)');
  for (const [at, name] of metrics.entries()) {
    const id = firstMetric + at;
    metric.run(id, name, columnsChecksum(id, name));
    maker.run(id, makers[at]!, columnsChecksum(id, makers[at]!));
  }
  const source = db.prepare('INSERT OR REPLACE INTO source(id, org, name, series, crc) VALUES (?, ?, ?, ?, ?)');
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at]!;
    const its = pairs.subarray(ends[at - 1] ?? 0, ends[at]);
    const series = new Uint8Array(its.buffer, its.byteOffset, its.byteLength);
    source.run(id, orgIds[at]!, sourceIds[at]!, series, columnsChecksum(id, orgIds[at]!, sourceIds[at]!, series));
  }
}

/**
 * Reads the metrics, and counts the rest: `NameCheck` looks at each source.
 * @param ended how many series had a number and are no more.
 * @throws TelemetryError `store_corrupt` when a metric is damaged or missing.
 */
export function readNames(db: DatabaseSync, ended: number): OpenedNames {
  const metrics = readMetrics(db);
  const counts = db
    .prepare(
      `SELECT org AS orgId, count(*) AS sources, sum(octet_length(name)) AS nameBytes, sum(length(series)) / 8 AS series FROM source INDEXED BY source_name GROUP BY org`,
    )
    .all() as unknown as NameCount[];
  const { lastSource } = db.prepare('SELECT coalesce(max(id), 0) AS lastSource FROM source').get() as { lastSource: number };
  const lastSeries = counts.reduce((sum, { series }) => sum + series, ended);
  return { metrics: metrics.map(({ name }) => name), makers: metrics.map(({ org }) => org ?? undefined), counts, lastSource, lastSeries };
}

interface MetricRow {
  readonly id: number;
  readonly name: string;
  readonly crc: number;
  readonly org: string | null;
  readonly makerCrc: number | null;
}

function readMetrics(db: DatabaseSync): readonly MetricRow[] {
  const metrics = db
    .prepare(
      'SELECT metric.id, name, metric.crc, org, maker.crc AS makerCrc FROM metric LEFT JOIN metric_maker AS maker USING (id) ORDER BY metric.id',
    )
    .all() as unknown as MetricRow[];
  for (const [at, { id, name, crc, org, makerCrc }] of metrics.entries()) {
    checkRow(`metric ${at + 1}`, crc, at + 1, name);
    if (id !== at + 1) throw missing(`metric ${at + 1}`);
    if (org !== null) checkRow(`who made metric ${id}`, makerCrc!, id, org);
  }
  return metrics;
}

/** Numbers in a blob, which may begin anywhere. */
export const numbersIn = (blob: Uint8Array): Uint32Array =>
  new Uint32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength));

export function missing(what: string): TelemetryError {
  return new TelemetryError('store_corrupt', `The store lacks the row of ${what}.`);
}
