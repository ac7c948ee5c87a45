import { keptFrom, type PointBatch } from '#model';
import { AgreedTime } from '../agreed-time.js';
import type { SealedArena } from './arena.js';
import type { Boundaries } from './kept.js';

/** How long points, and rollup rows of each level, are kept, in milliseconds: whatever is coarser at least as long. `Infinity` is for ever. */
export type Keep = Boundaries;
export const keepAll: Keep = { raw: Infinity, '1m': Infinity, '1h': Infinity, '1d': Infinity };

const levels = ['raw', '1m', '1h', '1d'] as const;

/** The points of a batch at or after a time. */
export function batchFrom(batch: PointBatch, fromMs: number): PointBatch {
  if (fromMs === 0 || batch.series.every(({ timestampMs }) => timestampMs.every((time) => time >= fromMs))) return batch;
  const series = batch.series.map((run) => {
    const isKept = (_: number, at: number): boolean => run.timestampMs[at]! >= fromMs;
    return { ...run, timestampMs: run.timestampMs.filter(isKept), value: run.value.filter(isKept) };
  });
  return { ...batch, series: series.filter(({ value }) => value.length > 0) };
}

const pointsOf = ({ series }: PointBatch): number => series.reduce((sum, { value }) => sum + value.length, 0);

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

  /** The batch without points that come too late, which are counted. */
  timely(batch: PointBatch): PointBatch {
    const timely = batchFrom(batch, this.wanted.raw);
    if (timely !== batch) this.late += pointsOf(batch) - pointsOf(timely);
    return timely;
  }

  #isLater(nowMs: number): boolean {
    return levels.some((level) => keptFrom(this.keep[level], nowMs) > this.wanted[level]);
  }

  #at(nowMs: number): Boundaries {
    const from = (level: keyof Boundaries): number => Math.max(this.wanted[level], keptFrom(this.keep[level], nowMs));
    return { raw: from('raw'), '1m': from('1m'), '1h': from('1h'), '1d': from('1d') };
  }
}
