import type { RollupRows } from '#model';

/** Buckets [fromMs, toMs) whose rows do not add up: they are to be folded again from the raw points. */
export interface Stale {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Merges the rows that several runs have of one series and level into `into`. The rows of a bucket can be added where their spans do not touch,
 * because then no point is in two runs. Every other bucket gets a row whose values are not right yet, and is returned; neighbours as one.
 */
export function mergeRows(runs: readonly RollupRows[], sizeMs: number, into: RollupRows): readonly Stale[] {
  const live = runs.filter(({ length }) => length > 0);
  if (live.length === 1) into.append(live[0]!);
  return live.length > 1 ? mergeLive(live, sizeMs, into) : [];
}

function mergeLive(live: readonly RollupRows[], sizeMs: number, into: RollupRows): readonly Stale[] {
  const stale: Stale[] = [];
  /** The next row of each. */
  const at = live.map(() => 0);
  for (let startMs = firstStart(live, at); startMs < Infinity; startMs = firstStart(live, at)) {
    if (mergeBucket(live, at, startMs, into)) continue;
    const last = stale.at(-1);
    if (last?.toMs === startMs) stale[stale.length - 1] = { fromMs: last.fromMs, toMs: startMs + sizeMs };
    else stale.push({ fromMs: startMs, toMs: startMs + sizeMs });
  }
  return stale;
}

function firstStart(live: readonly RollupRows[], at: readonly number[]): number {
  let startMs = Infinity;
  for (let run = 0; run < live.length; run++) {
    const rows = live[run]!;
    if (at[run]! < rows.length) startMs = Math.min(startMs, rows.startMs[at[run]!]!);
  }
  return startMs;
}

/** Adds the rows of one bucket to `into` and moves `at` past them; false when they do not add up. */
function mergeBucket(live: readonly RollupRows[], at: number[], startMs: number, into: RollupRows): boolean {
  const row = into.length;
  let adds = true;
  into.begin();
  for (let run = 0; run < live.length; run++) {
    const rows = live[run]!;
    const next = at[run]!;
    if (next === rows.length || rows.startMs[next] !== startMs) continue;
    adds &&= into.length === row || apart(into, row, rows, next);
    into.take(rows, next);
    at[run] = next + 1;
  }
  return adds;
}

const apart = (a: RollupRows, row: number, b: RollupRows, other: number): boolean =>
  a.lastMs[row]! < b.firstMs[other]! || b.lastMs[other]! < a.firstMs[row]!;
