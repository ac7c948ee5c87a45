import { formatMetricsList, type Interval, type Window } from '#model';
import { Failure } from './failure.js';
import type { PatientApi } from './patient-api.js';

/** A series as the query endpoint answers it: parallel arrays, of raw points or of buckets. */
interface WireSeries {
  readonly timestamp_ms: readonly number[];
  readonly [column: string]: readonly number[];
}

interface WireAnswer {
  readonly series: Readonly<Record<string, WireSeries>>;
  readonly truncated: boolean;
}

/** Rows by metric and column, ascending in time; raw points that differ in tags only have the same time. */
export interface Page {
  readonly series: Readonly<Record<string, WireSeries>>;
  /** Rows at this time or later are not whole: they come again with the next page. */
  readonly beforeMs: number;
}

interface PageQuery {
  readonly sourceId: string;
  readonly metrics: readonly string[];
  readonly interval: Interval;
  readonly window: Window;
}

/** All that the window holds, a page at a time: where an answer is cut off, the next one begins at its last time. */
export async function* pages(api: PatientApi, query: PageQuery): AsyncGenerator<Page> {
  for (let { startMs } = query.window; ;) {
    const { series, truncated } = (await api.request(path(query, startMs))) as WireAnswer;
    if (!truncated) return yield { series, beforeMs: Infinity };
    const beforeMs = Math.max(...Object.values(series).map((columns) => columns.timestamp_ms.at(-1) ?? -Infinity));
    if (!isProgress(series, beforeMs)) throw new Failure('More than 10,000 rows are of one time: choose fewer metrics with --metric.');
    yield { series, beforeMs };
    startMs = beforeMs;
  }
}

const isProgress = (series: Page['series'], beforeMs: number): boolean =>
  Object.values(series).some(({ timestamp_ms: times }) => times[0]! < beforeMs);

function path({ sourceId, metrics, interval, window: { endMs } }: PageQuery, startMs: number): string {
  // Names that no list can hold are picked out of all.
  const list = encodeURIComponent(formatMetricsList(metrics) ?? '');
  const span = `start=${new Date(startMs).toISOString()}&end=${new Date(endMs).toISOString()}`;
  return `/v1/sources/${encodeURIComponent(sourceId)}/metrics/query?${span}&interval=${interval}${list && `&metrics=${list}`}`;
}
