import { batchFrom, keptFrom, type PointBatch, pointsOf } from '#model';
import { AgreedTime } from '#stores';
import type { SealedArena } from './arena.js';
import type { Boundaries } from './kept.js';

/** How long points, and rollup rows of each level, are kept, in milliseconds: whatever is coarser at least as long. `Infinity` is for ever. */
export type Keep = Boundaries;
export const keepAll: Keep = { raw: Infinity, '1m': Infinity, '1h': Infinity, '1d': Infinity };

const keptLevels = ['raw', '1m', '1h', '1d'] as const;

/** Decides how far back points are taken. */
export class Keeper {
  /** Points that came too late. */
  late = 0;
  readonly #time = new AgreedTime();

  constructor(
    private readonly keep: Keep,
    public wanted: Boundaries,
  ) {}

  /** What is to be kept from now on, once a record was received at this time; undefined while that does not change. */
  due(receivedMs: number): SealedArena['wanted'] {
    const asOfMs = this.#time.after(receivedMs, this.#isLater(receivedMs));
    return asOfMs === undefined ? undefined : { wanted: this.#at(asOfMs), asOfMs };
  }

  /** What is due holds from now on. */
  move({ wanted }: NonNullable<SealedArena['wanted']>): void {
    this.wanted = wanted;
    this.#time.restart();
  }

  /** The batch without points that come too late, which are counted. @param fromMs the first moment that is kept of its organization. */
  timely(batch: PointBatch, fromMs = 0): PointBatch {
    const timely = batchFrom(batch, Math.max(this.wanted.raw, fromMs));
    if (timely !== batch) this.late += pointsOf(batch) - pointsOf(timely);
    return timely;
  }

  #isLater(nowMs: number): boolean {
    return keptLevels.some((level) => keptFrom(this.keep[level], nowMs) > this.wanted[level]);
  }

  #at(nowMs: number): Boundaries {
    const from = (level: keyof Boundaries): number => Math.max(this.wanted[level], keptFrom(this.keep[level], nowMs));
    return { raw: from('raw'), '1m': from('1m'), '1h': from('1h'), '1d': from('1d') };
  }
}
