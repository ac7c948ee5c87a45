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
  /** The numbers of sources that there are no more. */
  readonly forgotten: readonly number[];
  /** The highest number that a series has or had. */
  readonly lastSeries: number;
}

/** Inserts new metrics, and sources with what they have now, and removes those that are forgotten. */
export function writeDirectory(
  db: DatabaseSync,
  { firstMetric, metrics, ids, orgIds, sourceIds, pairs, ends, forgotten }: DirectoryColumns,
): void {
  const remove = db.prepare('DELETE FROM source WHERE id = ?');
  for (const id of forgotten) remove.run(id);
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

/**
 * @param ended how many series had a number and are no more.
 * @throws TelemetryError `store_corrupt` when a row is damaged or missing.
 */
export function readDirectory(db: DatabaseSync, ended: number): DirectoryColumns {
  const metrics = db.prepare('SELECT id, name, crc FROM metric ORDER BY id').all() as { id: number; name: string; crc: number }[];
  for (const [at, { id, name, crc }] of metrics.entries()) {
    checkRow(`metric ${at + 1}`, crc, at + 1, name);
    if (id !== at + 1) throw missing(`metric ${at + 1}`);
  }
  return { firstMetric: 1, metrics: metrics.map(({ name }) => name), ...readSources(db, ended), forgotten: [] };
}

function readSources(db: DatabaseSync, ended: number): Omit<DirectoryColumns, 'firstMetric' | 'metrics' | 'forgotten'> {
  const select = db.prepare('SELECT id, org, name, series, crc FROM source ORDER BY id');
  select.setReturnArrays(true);
  const [ids, orgIds, sourceIds, ends]: [number[], string[], string[], number[]] = [[], [], [], []];
  const series = new ByteWriter();
  for (const row of select.iterate()) {
    const [id, orgId, sourceId, pairs, crc] = row as unknown as [number, string, string, Uint8Array, number];
    checkRow(`source ${id}`, crc, id, orgId, sourceId, pairs);
    ids.push(id);
    orgIds.push(orgId);
    sourceIds.push(sourceId);
    series.append(pairs);
    ends.push(series.length / 4);
  }
  const pairs = new Uint32Array(series.bytes.buffer, 0, series.length / 4);
  const lastSeries = pairs.length / 2 + ended;
  checkSeries(pairs, lastSeries);
  return { ids: Uint32Array.from(ids), orgIds, sourceIds, pairs: pairs.slice(), ends: Uint32Array.from(ends), lastSeries };
}

/** Each number belongs to a series that there is or that has ended, so a source that is missing leaves numbers out. */
function checkSeries(pairs: Uint32Array, lastSeries: number): void {
  for (let at = 1; at < pairs.length; at += 2) if (pairs[at]! > lastSeries) throw missing('a source');
}

function missing(what: string): TelemetryError {
  return new TelemetryError('store_corrupt', `The store lacks the row of ${what}.`);
}
