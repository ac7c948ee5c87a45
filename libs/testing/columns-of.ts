import type { PointColumns } from '#model';

/** Points as columns. */
export const columnsOf = (...points: readonly (readonly [timestampMs: number, value: number])[]): PointColumns => ({
  timestampMs: Float64Array.from(points, ([timestampMs]) => timestampMs),
  value: Float64Array.from(points, ([, value]) => value),
});
