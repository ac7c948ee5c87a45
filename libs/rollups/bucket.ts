/** What is known of the points of one series in one window; the numbers are finite where the bucket is stored. */
export interface Bucket {
  readonly startMs: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly count: number;
}

/** A bucket and the number of its series. */
export interface SeriesBucket {
  readonly series: number;
  readonly bucket: Bucket;
}

/** Whether a sum of `count` values in [min, max] may have left the range of doubles, even in the middle of summing. */
export const mayOverflow = (min: number, max: number, count: number): boolean => Math.max(-min, max) * count > Number.MAX_VALUE;
