import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { checkRow, columnsChecksum } from '../checksum.js';
import { ByteWriter } from './bytes.js';

/**
 * Names by number, as columns: handing a thread an object and a buffer for each source would cost several times as much. Sources, metrics and series are
 * numbered from 1 on as they are first seen.
 */
export interface DirectoryColumns {
  /** The numbers of the metrics follow each other from this one on. */
  readonly firstMetric: number;
  readonly metrics: readonly string[];
  readonly ids: ArrayLike<number>;
  readonly orgIds: readonly string[];
  readonly sourceIds: readonly string[];
  /** The metric and the series number of each series in turn, source after source, and where those of each source end. */
  readonly pairs: Uint32Array;
  readonly ends: ArrayLike<number>;
}

/** Inserts new metrics, and sources with what they have now. */
export function writeDirectory(db: DatabaseSync, { firstMetric, metrics, ids, orgIds, sourceIds, pairs, ends }: DirectoryColumns): void {
  const metric = db.prepare('INSERT INTO metric(id, name, crc) VALUES (?, ?, ?)');
  for (const [at, name] of metrics.entries()) metric.run(firstMetric + at, name, columnsChecksum(firstMetric + at, name));
  const source = db.prepare('INSERT OR REPLACE INTO source(id, org, name, series, crc) VALUES (?, ?, ?, ?, ?)');
  for (let at = 0; at < ids.length; at++) {
    const id = ids[at]!;
    const its = pairs.subarray(ends[at - 1] ?? 0, ends[at]);
    const series = new Uint8Array(its.buffer, its.byteOffset, its.byteLength);
    source.run(id, orgIds[at]!, sourceIds[at]!, series, columnsChecksum(id, orgIds[at]!, sourceIds[at]!, series));
  }
}

/** @throws TelemetryError `store_corrupt` when a row is damaged or missing. */
export function readDirectory(db: DatabaseSync): DirectoryColumns {
  const metrics = db.prepare('SELECT id, name, crc FROM metric ORDER BY id').all() as { id: number; name: string; crc: number }[];
  for (const [at, { id, name, crc }] of metrics.entries()) {
    checkRow(`metric ${at + 1}`, crc, at + 1, name);
    if (id !== at + 1) throw missing('metric', at + 1);
  }
  return { firstMetric: 1, metrics: metrics.map(({ name }) => name), ...readSources(db) };
}

function readSources(db: DatabaseSync): Omit<DirectoryColumns, 'firstMetric' | 'metrics'> {
  const select = db.prepare('SELECT org, name, series, crc FROM source ORDER BY id');
  select.setReturnArrays(true);
  const [orgIds, sourceIds, ends]: [string[], string[], number[]] = [[], [], []];
  const series = new ByteWriter();
  for (const row of select.iterate()) {
    const [orgId, sourceId, pairs, crc] = row as unknown as [string, string, Uint8Array, number];
    const id = ends.length + 1;
    checkRow(`source ${id}`, crc, id, orgId, sourceId, pairs);
    orgIds.push(orgId);
    sourceIds.push(sourceId);
    series.append(pairs);
    ends.push(series.length / 4);
  }
  const pairs = new Uint32Array(series.bytes.buffer, 0, series.length / 4);
  checkSeries(pairs, ends);
  return { ids: Uint32Array.from(ends.keys(), (at) => at + 1), orgIds, sourceIds, pairs: pairs.slice(), ends: Uint32Array.from(ends) };
}

/** Series are numbered without a gap, so a source that is missing leaves numbers out. */
function checkSeries(pairs: Uint32Array, ends: readonly number[]): void {
  for (let at = 1; at < pairs.length; at += 2) {
    if (pairs[at]! > pairs.length / 2) throw missing('source after', 1 + ends.findIndex((end) => end > at));
  }
}

function missing(what: string, id: number): TelemetryError {
  return new TelemetryError('store_corrupt', `The store lacks the row of ${what} ${id}.`);
}
