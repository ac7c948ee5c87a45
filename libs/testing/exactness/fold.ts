/** The contract of reads, done the slow and plain way over all points that were accepted. Nothing here is shared with the service. */

export const sizesMs = { '1m': 60_000, '10m': 600_000, '1h': 3_600_000, '1d': 86_400_000 } as const;
export type Interval = 'raw' | keyof typeof sizesMs;
export const intervals: readonly Interval[] = ['raw', '1m', '10m', '1h', '1d'];
export const rowCap = 10_000;

/** A point: its time in Unix milliseconds, and its tags as text. */
export interface PlainPoint {
  readonly timestampMs: number;
  readonly tags: string;
  readonly value: number;
}

/** Points by their place in a series: what is left once later points have replaced earlier ones. */
export type PlainSeries = ReadonlyMap<string, PlainPoint>;

/** Equal for points of which the later one replaces the earlier one. */
export const placeOf = ({ timestampMs, tags }: PlainPoint): string => `${timestampMs} ${tags}`;

/** Series without tags, from the values of each by time. */
export const untagged = (series: ReadonlyMap<string, ReadonlyMap<number, number>>): Map<string, PlainSeries> =>
  new Map(
    [...series].map(([name, values]) => {
      const points = [...values].map(([timestampMs, value]): PlainPoint => ({ timestampMs, tags: '', value }));
      return [name, new Map(points.map((point) => [placeOf(point), point]))];
    }),
  );

/** The points of a series, by time and then by the bytes of their tags. */
export const pointsOf = (series: PlainSeries): PlainPoint[] =>
  [...series.values()].toSorted((a, b) => a.timestampMs - b.timestampMs || byBytes(a.tags, b.tags));

/** One row of an answer; `name` is the metric, in fleet answers the source. A raw row has `value`, a bucket the other four. */
export interface AnswerRow {
  readonly name: string;
  readonly timestampMs: number;
  readonly value?: number;
  readonly min?: number;
  readonly max?: number;
  readonly avg?: number;
  readonly count?: number;
}

export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Rows ordered by (time, name by its bytes). */
export function inOrder(rows: readonly AnswerRow[]): AnswerRow[] {
  const names = [...new Set(rows.map(({ name }) => name))].toSorted(byBytes);
  const ranks = new Map(names.map((name, rank) => [name, rank]));
  return rows.toSorted((a, b) => a.timestampMs - b.timestampMs || ranks.get(a.name)! - ranks.get(b.name)!);
}

/** Every row of the window, uncapped, ordered by (time, name). A bucket counts when its start lies in the window floored to a bucket. */
export function rowsOf(series: ReadonlyMap<string, PlainSeries>, interval: Interval, startMs: number, endMs: number): AnswerRow[] {
  const rows = [...series].flatMap(([name, points]) =>
    interval === 'raw' ? rawRows(name, points, startMs, endMs) : bucketRows(name, points, sizesMs[interval], startMs, endMs),
  );
  return inOrder(rows);
}

function rawRows(name: string, points: PlainSeries, startMs: number, endMs: number): AnswerRow[] {
  return pointsOf(points)
    .filter(({ timestampMs: time }) => startMs <= time && time < endMs)
    .map(({ timestampMs, value }) => ({ name, timestampMs, value }));
}

function bucketRows(name: string, points: PlainSeries, sizeMs: number, startMs: number, endMs: number): AnswerRow[] {
  const firstMs = Math.floor(startMs / sizeMs) * sizeMs;
  const buckets = new Map<number, number[]>();
  for (const { timestampMs: time, value } of points.values()) {
    const bucket = Math.floor(time / sizeMs) * sizeMs;
    if (bucket < firstMs || bucket >= endMs) continue;
    const values = buckets.get(bucket);
    if (values) values.push(value);
    else buckets.set(bucket, [value]);
  }
  return [...buckets].map(([timestampMs, values]) => ({ name, timestampMs, ...summary(values) }));
}

function summary(values: readonly number[]): Pick<AnswerRow, 'min' | 'max' | 'avg' | 'count'> {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  // Huge values are summed as parts of the largest one: their sum may be beyond the doubles, their average is not.
  const unit = Math.max(-min, max) > 1e290 ? Math.max(-min, max) : 1;
  const sum = values.reduce((so, value) => so + value / unit, 0);
  return { min, max, avg: (sum / values.length) * unit, count: values.length };
}

/** The interval that the service chooses by itself: raw under ten minutes, else the one with the number of buckets nearest to 1,000 in ratio. */
export function automaticInterval(spanMs: number): Interval {
  if (spanMs < 600_000) return 'raw';
  const distance = (interval: keyof typeof sizesMs): number => Math.abs(Math.log(spanMs / sizesMs[interval] / 1000));
  return (Object.keys(sizesMs) as (keyof typeof sizesMs)[]).reduce((best, next) => (distance(next) < distance(best) ? next : best));
}

/** Unix milliseconds of a time as it was sent, or undefined when the service has to take its receive time. */
export function timeOf(sent: number | null | undefined): number | undefined {
  if (sent === undefined || sent === null || sent <= 0) return undefined;
  if (sent < 1e12) return Math.round(sent * 1000);
  if (sent >= 1e17) return Math.round(sent / 1e6);
  return Math.round(sent >= 1e14 ? sent / 1e3 : sent);
}
