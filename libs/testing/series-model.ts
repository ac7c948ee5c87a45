import { bucketWindow, compareUtf8, intervalMs, bucketStartMs, type PointBatch, type RollupInterval, type Window } from '#model';
import type { FleetQuery, SeriesQuery } from '#stores';

export type RawRow = readonly [name: string, timestampMs: number, value: number];

export type TaggedRow = readonly [...RawRow, tags: string];

export interface BucketRow {
  readonly name: string;
  readonly timestampMs: number;
  readonly min: number;
  readonly max: number;
  readonly avg: number;
  readonly count: number;
}

/** Rows in the order of (time, name), of which the first `limit` are kept. */
export interface Kept<Row> {
  readonly rows: readonly Row[];
  readonly truncated: boolean;
}

interface Point {
  readonly timestampMs: number;
  readonly tags: string;
  readonly value: number;
}

/** Points by time and tags. */
type Series = Map<string, Point>;

/** What a series store must answer, in the plainest way: a map of points, and every rollup folded from it when asked. */
export class SeriesModel {
  readonly #series = new Map<string, Map<string, Series>>();

  write({ orgId, sourceId, series, deleted }: PointBatch): void {
    if (deleted) this.#delete(`${orgId}/${sourceId}`, deleted.metric);
    for (const { metric, tags, timestampMs, value } of series) {
      for (const [at, time] of timestampMs.entries()) {
        this.#make(orgId, sourceId, metric).set(`${time} ${tags}`, { timestampMs: time, tags, value: value[at]! + 0 });
      }
    }
  }

  metricNames(orgId: string, sourceId: string): string[] {
    return [...this.#of(orgId, sourceId).keys()].toSorted(compareUtf8);
  }

  latest(orgId: string, sourceId: string, window: Window): [string, number][] {
    return this.metricNames(orgId, sourceId).flatMap((metric): [string, number][] => {
      const newest = points(this.#of(orgId, sourceId).get(metric)!, window).at(-1);
      return newest ? [[metric, newest.value]] : [];
    });
  }

  raw(query: SeriesQuery): Kept<RawRow> {
    const { rows, truncated } = this.tagged(query);
    return { rows: rows.map(([name, timestampMs, value]) => [name, timestampMs, value]), truncated };
  }

  tagged(query: SeriesQuery): Kept<TaggedRow> {
    const rows = this.#asked(query).flatMap(([metric, series]) =>
      points(series, query.window).map(({ timestampMs, value, tags }) => [metric, timestampMs, value, tags] as const),
    );
    return keep(rows, query.limit, ([name, timestampMs]) => ({ name, timestampMs }));
  }

  buckets(query: SeriesQuery & { readonly interval: RollupInterval }): Kept<BucketRow> {
    const rows = this.#asked(query).flatMap(([metric, series]) => fold(metric, series, query.window, query.interval));
    return keep(rows, query.limit, (row) => row);
  }

  fleet(query: FleetQuery): Kept<BucketRow> & { readonly sources: readonly string[] } {
    const prefix = `${query.orgId}/`;
    const rows = [...this.#series].flatMap(([key, metrics]) => {
      const series = metrics.get(query.metric);
      const isWanted = key.startsWith(prefix) && (query.sources?.has(key.slice(prefix.length)) ?? true);
      return series && isWanted ? fold(key.slice(prefix.length), series, query.window, query.interval) : [];
    });
    const sources = [...new Set(rows.map(({ name }) => name))].toSorted(compareUtf8);
    return { ...keep(rows, query.limit, (row) => row), sources };
  }

  #asked({ orgId, sourceId, metrics }: SeriesQuery): [string, Series][] {
    return [...this.#of(orgId, sourceId)].filter(([metric]) => metrics?.includes(metric) ?? true);
  }

  #of(orgId: string, sourceId: string): Map<string, Series> {
    return this.#series.get(`${orgId}/${sourceId}`) ?? new Map<string, Series>();
  }

  #delete(key: string, metric: string | null): void {
    if (metric === null) this.#series.delete(key);
    else this.#series.get(key)?.delete(metric);
  }

  #make(orgId: string, sourceId: string, metric: string): Series {
    const metrics = this.#of(orgId, sourceId);
    this.#series.set(`${orgId}/${sourceId}`, metrics);
    if (!metrics.has(metric)) metrics.set(metric, new Map());
    return metrics.get(metric)!;
  }
}

/** The points in the window by time, and those of one time by the UTF-8 bytes of their tags. */
function points(series: Series, { startMs, endMs }: Window): Point[] {
  return [...series.values()]
    .filter(({ timestampMs }) => timestampMs >= startMs && timestampMs < endMs)
    .toSorted((a, b) => a.timestampMs - b.timestampMs || compareUtf8(a.tags, b.tags));
}

function fold(name: string, series: Series, asked: Window, interval: RollupInterval): BucketRow[] {
  const window = bucketWindow(asked, interval);
  const buckets = Map.groupBy(series.values(), ({ timestampMs }) => bucketStartMs(timestampMs, intervalMs[interval]));
  return [...buckets]
    .filter(([timestampMs]) => timestampMs >= window.startMs && timestampMs < window.endMs)
    .map(([timestampMs, its]) => {
      const values = its.map(({ value }) => value);
      return { name, timestampMs, min: Math.min(...values), max: Math.max(...values), avg: average(values), count: values.length };
    });
}

/** The sum over the count; summed smaller than it is where a step would leave the range of doubles. */
function average(values: readonly number[]): number {
  const plain = values.reduce((sum, value) => sum + value, 0);
  if (Number.isFinite(plain)) return plain / values.length;
  const scale = 2 ** 64;
  const scaled = (values.reduce((sum, value) => sum + value / scale, 0) / values.length) * scale;
  return Math.min(Math.max(scaled, Math.min(...values)), Math.max(...values));
}

function keep<Row>(
  rows: readonly Row[],
  limit: number,
  of: (row: Row) => { readonly name: string; readonly timestampMs: number },
): Kept<Row> {
  const ordered = rows.toSorted((a, b) => of(a).timestampMs - of(b).timestampMs || compareUtf8(of(a).name, of(b).name));
  return { rows: ordered.slice(0, limit), truncated: rows.length > limit };
}
