import type { PointBatch } from '#model';

const lastMs = 253_402_300_799_999;

/** The first and the last time of a batch. */
export interface Times {
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The times of a batch, after a look for what the store would take in silence and change: such a record is refused as a whole.
 * @throws Error in words for the operator.
 */
export function checkedTimes({ orgId, sourceId, series }: PointBatch): Times {
  if (orgId === '' || sourceId === '') throw new Error('a batch of points names no organization or no source');
  let first = Infinity;
  let last = -Infinity;
  for (const { metric, timestampMs, value } of series) {
    if (metric === '') throw new Error('a run of points names no metric');
    if (timestampMs.length !== value.length) throw new Error('a run of points has more times than values, or fewer');
    for (let at = 0; at < value.length; at++) {
      const time = timestampMs[at]!;
      if (!Number.isFinite(value[at])) throw new Error('a point has a value that is no finite number');
      if (!Number.isInteger(time) || time < 0 || time > lastMs) throw new Error('a point has a time outside of 1970 to 9999');
      if (time < first) first = time;
      if (time > last) last = time;
    }
  }
  return { firstMs: first, lastMs: last };
}
