import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError, type RollupInterval } from '#model';
import { type BlockRow, isBefore, type RunPlace } from './block.js';
import { checkRow, columnsChecksum } from '../checksum.js';

/** The intervals whose rows are stored; reads fold the other intervals from them. */
export const levels = ['1m', '1h'] as const;
export type Level = (typeof levels)[number];
export const levelOf: Readonly<Record<RollupInterval, Level>> = { '1m': '1m', '10m': '1m', '1h': '1h', '1d': '1h' };

/** The blocks of one kind: how many there are and where the last one ends. */
export interface Extent {
  readonly blocks: number;
  readonly last: RunPlace;
}

/**
 * The rollup rows of a stretch of a run's points (in the order of series and time). Within a segment rows are sorted by metric and series, so
 * that one metric of many sources lies together. A level that is missing has too few points a row: it folds from the finer level or the points.
 */
export interface Segment {
  /** First and last (series, start of the bucket) of its rows. */
  readonly from: RunPlace;
  readonly to: RunPlace;
  readonly rows: Readonly<Partial<Record<Level, Extent>>>;
}

/**
 * A run is written once and never changed: all points of a span of the log, sorted by series, time and tags, no point twice. The arenas it was made
 * of are numbered from 1 on, so the runs of a store follow one another without a gap. Where two runs hold one point, the newer run is right.
 */
export interface Run {
  readonly id: number;
  /** How many merges its points went through. */
  readonly level: number;
  readonly firstArena: number;
  readonly lastArena: number;
  readonly points: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly raw: Extent;
  readonly segments: readonly Segment[];
  /** By partition: the highest offset that is in this run or an older one. */
  readonly offsets: Readonly<Record<number, number>>;
}

export const rawKind = 0;
export const rowsKind = (segment: number, level: Level): number => 2 * segment + 1 + levels.indexOf(level);

/** More series than a store has. With fewer than 2^26 metrics a key of rows is a whole number that a double holds. */
const maxSeries = 2 ** 27;
/** The key of a series' rollup rows, which puts a metric's series side by side. */
export const rowsKey = (metric: number, series: number): number => metric * maxSeries + series;

export function insertRun(db: DatabaseSync, run: Run): void {
  const info = JSON.stringify(run);
  db.prepare('INSERT INTO run(id, info, crc) VALUES (?, ?, ?)').run(run.id, info, columnsChecksum(info));
  db.prepare('INSERT INTO newest(id, arena) VALUES (1, ?) ON CONFLICT DO UPDATE SET arena = max(arena, excluded.arena)').run(run.lastArena);
}

export function removeRun(db: DatabaseSync, id: number): void {
  db.prepare('DELETE FROM run WHERE id = ?').run(id);
}

/** Makes the function that reads the runs, oldest first; it does not parse those in `known` again, and throws TelemetryError `store_corrupt`. */
export function runsReader(db: DatabaseSync): (known?: ReadonlyMap<number, Run>) => Run[] {
  const all = db.prepare('SELECT id FROM run');
  const one = db.prepare('SELECT info, crc FROM run WHERE id = ?');
  const last = db.prepare('SELECT arena FROM newest');
  const parse = (id: number): Run => {
    const { info, crc } = one.get(id) as { info: string; crc: number };
    checkRow(`run ${id}`, crc, info);
    return JSON.parse(info) as Run;
  };
  return (known) => {
    const ids = all.all() as { id: number }[];
    const runs = ids.map(({ id }) => known?.get(id) ?? parse(id)).toSorted((a, b) => a.firstArena - b.firstArena);
    checkNoneLost(runs, (last.get() as { arena: number } | undefined)?.arena ?? 0);
    return runs;
  };
}

function checkNoneLost(runs: readonly Run[], lastArena: number): void {
  let arena = 0;
  for (const run of runs) {
    if (run.firstArena !== arena + 1) throw lost(arena + 1);
    arena = run.lastArena;
  }
  if (arena !== lastArena) throw lost(arena + 1);
}

const lost = (arena: number): TelemetryError =>
  new TelemetryError('store_corrupt', `The store has lost the run that begins with arena ${arena}.`);

/** Makes the function that writes a block to its table. */
export function blockInsert(db: DatabaseSync): (row: BlockRow) => void {
  const insert = db.prepare('INSERT INTO block(run, kind, key, time_ms, number, body) VALUES (?, ?, ?, ?, ?, ?)');
  return ({ run, kind, last, number, body }) => void insert.run(run, kind, last.key, last.timeMs, number, body);
}

/**
 * Finds the block that holds the first place at or after the given one. Of several blocks that end there it is the first whose number is at least
 * `number`, 0 when left out. Undefined when the run ends before the place.
 */
export type BlockSearch = (run: number, kind: number, extent: Extent, key: number, timeMs: number, number?: number) => BlockRow | undefined;

export function blockSearch(db: DatabaseSync): BlockSearch {
  const search = db.prepare(
    `SELECT key, time_ms, number, body FROM block WHERE run = ? AND kind = ? AND (key, time_ms, number) >= (?, ?, ?)
     ORDER BY key, time_ms, number LIMIT 1`,
  );
  return (run, kind, extent, key, timeMs, number = 0) => {
    if (isBefore(extent.last, key, timeMs)) return undefined;
    const row = search.get(run, kind, key, timeMs, number) as
      | { key: number; time_ms: number; number: number; body: Uint8Array }
      | undefined;
    if (!row) throw new TelemetryError('store_corrupt', `Run ${run} of the store lacks its last block of kind ${kind}.`);
    return { run, kind, number: row.number, last: { key: row.key, timeMs: row.time_ms }, body: row.body };
  };
}
