import { RollupRows } from '#model';

/** Kept from call to call: the rows of runs that have some, and where in each the merge stands. */
const live: RollupRows[] = [];
const at: number[] = [];
const none: readonly Stale[] = [];

/** Buckets [fromMs, toMs) whose rows do not add up: they are to be folded again from the raw points. */
export interface Stale {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Appends the rows that several runs have of one series and level as one. Rows of a bucket add up where their spans do not touch, for then
 * no point is in two of them; the other buckets get a row that only says that there is something, and are returned, neighbours together.
 */
export function mergeRows(runs: readonly RollupRows[], sizeMs: number, into: RollupRows): readonly Stale[] {
  live.length = 0;
  for (const rows of runs) if (rows.length > 0) live.push(rows);
  if (live.length === 1) into.append(live[0]!);
  return live.length > 1 ? mergeLive(sizeMs, into) : none;
}

function mergeLive(sizeMs: number, into: RollupRows): Stale[] {
  const stale: Stale[] = [];
  at.length = 0;
  while (at.length < live.length) at.push(0);
  for (let startMs = firstStart(); startMs < Infinity; startMs = firstStart()) {
    if (mergeBucket(startMs, into)) continue;
    const last = stale.at(-1);
    if (last?.toMs === startMs) stale[stale.length - 1] = { fromMs: last.fromMs, toMs: startMs + sizeMs };
    else stale.push({ fromMs: startMs, toMs: startMs + sizeMs });
  }
  return stale;
}

function firstStart(): number {
  let startMs = Infinity;
  for (let run = 0; run < live.length; run++) {
    const rows = live[run]!;
    if (at[run]! < rows.length) startMs = Math.min(startMs, rows.startMs[at[run]!]!);
  }
  return startMs;
}

/** Moves over the rows of one bucket; false when they do not add up. */
function mergeBucket(startMs: number, into: RollupRows): boolean {
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
