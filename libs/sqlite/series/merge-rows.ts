import { RollupRows } from '#model';

/** Buckets [fromMs, toMs) whose rows do not add up: they are to be folded again from the raw points. */
export interface Stale {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Appends the rows that several runs have of one series and level as one. Rows of a bucket add up where their spans do not touch, for then
 * no point is in two of them; the other buckets get a row that only says that there is something, and are returned, neighbours together.
 */
export function mergeRows(runs: readonly RollupRows[], sizeMs: number, into: RollupRows): Stale[] {
  const stale: Stale[] = [];
  const live = runs.filter((rows) => rows.length > 0);
  const at = live.map(() => 0);
  while (live.length > 0) {
    const startMs = Math.min(...live.map((rows, run) => rows.startMs[at[run]!]!));
    const row = into.length;
    let adds = true;
    into.begin();
    for (let run = live.length - 1; run >= 0; run--) {
      const rows = live[run]!;
      const next = at[run]!;
      if (rows.startMs[next] !== startMs) continue;
      adds &&= into.length === row || apart(into, row, rows, next);
      into.take(rows, next);
      if (++at[run]! === rows.length) {
        live.splice(run, 1);
        at.splice(run, 1);
      }
    }
    if (adds) continue;
    const last = stale.at(-1);
    if (last?.toMs === startMs) stale[stale.length - 1] = { fromMs: last.fromMs, toMs: startMs + sizeMs };
    else stale.push({ fromMs: startMs, toMs: startMs + sizeMs });
  }
  return stale;
}

const apart = (a: RollupRows, row: number, b: RollupRows, other: number): boolean =>
  a.lastMs[row]! < b.firstMs[other]! || b.lastMs[other]! < a.firstMs[row]!;
