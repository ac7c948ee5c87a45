import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { intervalMs } from '#model';
import { type KeptSince, keptSince } from '../boundaries.js';
import { numbersIn } from './directory-rows.js';
import { rawKind, type Run } from './run.js';

const dayMs = intervalMs['1d'];
/** Sources that are looked at before the time is. */
const sourcesAtOnce = 256;

/** From when on each series is kept, where its organization has less than all. Found out in slices: before that, a series counts as kept. */
export class SeriesBounds {
  /** Boundaries are edges of days. */
  readonly #days: Uint32Array;
  readonly #sources: StatementSync;
  #source: number | undefined = 0;

  /** @param series how many there are; later ones count as kept. */
  constructor(
    db: DatabaseSync,
    private readonly since: KeptSince,
    series: number,
  ) {
    this.#days = new Uint32Array(series + 1);
    this.#sources = db.prepare('SELECT id, org, series FROM source WHERE id > ? ORDER BY id LIMIT ?');
  }

  /** Looks for about that long; false once nothing is left to look at. */
  step(sliceMs: number): boolean {
    if (this.#source === undefined) return false;
    for (const endMs = performance.now() + sliceMs; this.#source !== undefined && performance.now() < endMs;) {
      const some = this.#sources.all(this.#source, sourcesAtOnce) as unknown as { id: number; org: string; series: Uint8Array }[];
      for (const { org, series } of some) this.#note(keptSince(this.since, org) / dayMs, series);
      this.#source = some.at(-1)?.id;
    }
    return true;
  }

  /** The first moment that is kept of a series; 0 where its organization does not say. */
  fromOf(series: number): number {
    return dayMs * (this.#days[series] ?? 0);
  }

  #note(day: number, series: Uint8Array): void {
    if (day === 0) return;
    const pairs = numbersIn(series);
    for (let at = 1; at < pairs.length; at += 2) this.#days[pairs[at]!] = day;
  }
}

/** Whether more than a quarter of a run is gone, by the last series of each of its blocks: to write it anew is then worth its cost. */
export function isMuchGone(db: DatabaseSync, run: Run, fromOf: (series: number) => number): boolean {
  const ends = db.prepare('SELECT key, time_ms AS timeMs FROM block WHERE run = ? AND kind = ?').iterate(run.id, rawKind);
  let gone = 0;
  for (const { key, timeMs } of ends as Iterable<unknown> as Iterable<{ readonly key: number; readonly timeMs: number }>)
    if (timeMs < fromOf(key)) gone++;
  return 4 * gone > run.raw.blocks;
}
