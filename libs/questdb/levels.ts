import { intervalMs, type RollupInterval } from '#model';
import type { rollupTables, Tables } from './tables.js';

/** A stored rollup and what its rows are folded from. */
export interface Level {
  readonly interval: Exclude<RollupInterval, '10m'>;
  readonly sizeMs: number;
  readonly table: (typeof rollupTables)[number];
  readonly from: 'points' | 'rollup1m' | 'rollup1h';
  /** Stale windows that lie together in so much time are made in one question. */
  readonly cellMs: number;
  /** See `RollupLevel`. */
  readonly maxOpen: number;
}

const dayMs = intervalMs['1d'];

/** Finest first: each is folded from the one before, the first from the points. */
export const levels: readonly Level[] = [
  { interval: '1m', sizeMs: intervalMs['1m'], table: 'rollup1m', from: 'points', cellMs: intervalMs['1h'], maxOpen: 64 },
  { interval: '1h', sizeMs: intervalMs['1h'], table: 'rollup1h', from: 'rollup1m', cellMs: dayMs, maxOpen: 16 },
  { interval: '1d', sizeMs: dayMs, table: 'rollup1d', from: 'rollup1h', cellMs: 32 * dayMs, maxOpen: 8 },
];

/** SQL for the columns of a bucket over rows of this table: min, max, sum, count. */
export const foldOf = (from: keyof Tables): string =>
  from === 'points' ? 'min(value), max(value), sum(value), count()' : 'min(min), max(max), sum(sum), sum(count)';
