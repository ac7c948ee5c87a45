import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { checkRow, columnsChecksum } from '../checksum.js';

/** A source and its series: `pairs` holds the metric and the series number of each in turn. */
interface SourceRow {
  readonly id: number;
  readonly orgId: string;
  readonly sourceId: string;
  readonly pairs: Uint32Array;
}

/** Names by number. Sources, metrics and series are numbered from 1 on as they are first seen. */
export interface DirectoryRows {
  readonly metrics: readonly { readonly id: number; readonly name: string }[];
  readonly sources: readonly SourceRow[];
}

/** Metrics and sources to be written, as columns: handing a thread an object and a buffer for each would cost several times as much. */
export interface DirectoryNews {
  /** The numbers of the metrics follow each other from this one on. */
  readonly firstMetric: number;
  readonly metrics: readonly string[];
  readonly ids: readonly number[];
  readonly orgIds: readonly string[];
  readonly sourceIds: readonly string[];
  /** The pairs of all sources as in `SourceRow`, source after source, and where the pairs of each source end. */
  readonly pairs: Uint32Array;
  readonly ends: readonly number[];
}

/** Inserts new metrics, and sources with what they have now. */
export function writeDirectory(db: DatabaseSync, { firstMetric, metrics, ids, orgIds, sourceIds, pairs, ends }: DirectoryNews): void {
  const metric = db.prepare('INSERT INTO metric(id, name, crc) VALUES (?, ?, ?)');
  for (const [at, name] of metrics.entries()) metric.run(firstMetric + at, name, columnsChecksum(firstMetric + at, name));
  const source = db.prepare('INSERT OR REPLACE INTO source(id, org, name, series, crc) VALUES (?, ?, ?, ?, ?)');
  for (const [at, id] of ids.entries()) {
    const its = pairs.subarray(ends[at - 1] ?? 0, ends[at]);
    const series = new Uint8Array(its.buffer, its.byteOffset, its.byteLength);
    source.run(id, orgIds[at]!, sourceIds[at]!, series, columnsChecksum(id, orgIds[at]!, sourceIds[at]!, series));
  }
}

/** @throws TelemetryError `store_corrupt` when a row is damaged or missing. */
export function readDirectory(db: DatabaseSync): DirectoryRows {
  const metrics = db.prepare('SELECT id, name, crc FROM metric ORDER BY id').all() as { id: number; name: string; crc: number }[];
  for (const [at, { id, name, crc }] of metrics.entries()) {
    checkRow(`metric ${at + 1}`, crc, at + 1, name);
    if (id !== at + 1) throw missing('metric', at + 1);
  }
  return { metrics: metrics.map(({ id, name }) => ({ id, name })), sources: readSources(db) };
}

function readSources(db: DatabaseSync): SourceRow[] {
  const rows = db.prepare('SELECT id, org, name, series, crc FROM source ORDER BY id').iterate() as Iterable<{
    id: number;
    org: string;
    name: string;
    series: Uint8Array;
    crc: number;
  }>;
  const sources: SourceRow[] = [];
  let series = 0;
  for (const row of rows) {
    const id = sources.length + 1;
    checkRow(`source ${id}`, row.crc, id, row.org, row.name, row.series);
    const pairs = new Uint32Array(row.series.slice().buffer);
    sources.push({ id, orgId: row.org, sourceId: row.name, pairs });
    series += pairs.length / 2;
  }
  checkSeries(sources, series);
  return sources;
}

/** Series are numbered without a gap, so a source that is missing leaves numbers out. */
function checkSeries(sources: readonly SourceRow[], count: number): void {
  for (const { id, pairs } of sources) {
    for (let at = 1; at < pairs.length; at += 2) if (pairs[at]! > count) throw missing('source after', id);
  }
}

function missing(what: string, id: number): TelemetryError {
  return new TelemetryError('store_corrupt', `The store lacks the row of ${what} ${id}.`);
}
