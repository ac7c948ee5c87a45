import type { DatabaseSync } from 'node:sqlite';
import { type Archive, archiveLevels } from './archive.js';
import { Archiving } from './archiving.js';
import type { Boundaries, Kept, KeptArchives } from './kept.js';
import { Reads } from './reads.js';
import { blockSearch, type Run } from './run.js';
import { RunReader } from './run-reader.js';

/** How many neighbouring archives become one: a read of years would look into one for each day. */
const fanIn = 8;

/** Archives that are to be made, and what is kept once they are. */
export interface KeepingPlan {
  readonly archives: readonly Pick<Archive, 'level' | 'merges' | 'fromMs' | 'toMs'>[];
  readonly reached: Boundaries;
}

/** What is due: the boundaries move, or archives become one; undefined when nothing is. */
export function planOf({ kept, archives }: KeptArchives): KeepingPlan | undefined {
  return moveOf(kept) ?? mergeOf(kept, archives);
}

function moveOf({ wanted, reached }: Kept): KeepingPlan | undefined {
  if (wanted.raw <= reached.raw && archiveLevels.every((level) => wanted[level] <= reached[level])) return undefined;
  const made = archiveLevels.map((level) => ({ level, merges: 0, fromMs: Math.max(reached.raw, wanted[level]), toMs: wanted.raw }));
  return { archives: made.filter(({ fromMs, toMs }) => fromMs < toMs), reached: wanted };
}

function mergeOf({ reached }: Kept, archives: readonly Archive[]): KeepingPlan | undefined {
  for (const level of archiveLevels) {
    const its = archives.filter((archive) => archive.level === level);
    for (let at = 0; at + fanIn <= its.length; at++) {
      const some = its.slice(at, at + fanIn);
      const { merges, fromMs } = some[0]!;
      if (some.some((archive) => archive.merges !== merges)) continue;
      return { archives: [{ level, merges: merges + 1, fromMs, toMs: some.at(-1)!.toMs }], reached };
    }
  }
  return undefined;
}

/** The archives that are left of some once others are made. */
export function leftOf(archives: readonly Archive[], made: readonly Archive[], reached: Boundaries): readonly Archive[] {
  const isIn = (archive: Archive, whole: Archive): boolean =>
    archive.level === whole.level && archive.fromMs >= whole.fromMs && archive.toMs <= whole.toMs;
  return archives.filter((archive) => archive.toMs > reached[archive.level] && !made.some((whole) => isIn(archive, whole)));
}

/** Makes the archives of a plan, a slice at a time. Runs must not be merged meanwhile. */
export class Keeping {
  readonly #made: Archive[] = [];
  readonly #left: Archiving[];

  /** @param metrics the metric of each series, beginning with series 1. @param lastId the lowest number that an archive has or had. */
  constructor(
    db: DatabaseSync,
    runs: readonly Run[],
    past: KeptArchives,
    metrics: Uint32Array,
    readonly plan: KeepingPlan,
    lastId: number,
    fromOf: (series: number) => number,
  ) {
    const search = blockSearch(db);
    const series = metrics.map((_, at) => at + 1);
    const reads = new Reads(
      runs.map((run) => new RunReader(search, run)),
      [],
      { series, metrics, arenas: [], window: { startMs: 0, endMs: 0 }, limit: 0, interval: undefined, fleet: false, deadlineMs: 0 },
      past,
      search,
    );
    this.#left = plan.archives.map((head, at) => new Archiving(db, reads, metrics, { ...head, id: lastId - 1 - at }, fromOf));
  }

  /** The numbers of its archives, also of those that are not made yet. */
  get ids(): readonly number[] {
    return [...this.#made, ...this.#left].map(({ id }) => id);
  }

  /** Writes for about that long. Returns the archives once all are written. */
  step(sliceMs: number): readonly Archive[] | undefined {
    const archive = this.#left[0]?.step(sliceMs);
    if (archive) {
      this.#made.push(archive);
      this.#left.shift();
    }
    return this.#left.length === 0 ? this.#made : undefined;
  }
}
