import { HeadwaterError } from '../error.js';
import type { Access, Asked, Parameters } from './access.js';
import type { AggregatedSeries, Interval, RawSeries, RollupInterval, Series } from './types.js';
import { fixed, isoOf, type Window } from './window.js';

/** Some points of one metric, in the order of time. Points that differ in tags only stand one after the other with the same time. */
export interface RawColumns {
  readonly metric: string;
  readonly interval: 'raw';
  /** Unix milliseconds. */
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
}

/** Some buckets of one metric, in the order of time. */
export interface BucketColumns {
  readonly metric: string;
  readonly interval: RollupInterval;
  /** Starts of the buckets, Unix milliseconds. */
  readonly timestamps: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  /** Sum divided by count. */
  readonly avg: Float64Array;
  readonly count: Float64Array;
}

export type Columns = RawColumns | BucketColumns;
/** What a query for this interval brings. */
export type ColumnsOf<I extends Interval | undefined> = I extends 'raw' ? RawColumns : I extends RollupInterval ? BucketColumns : Columns;

export interface Query<I extends Interval | undefined = Interval | undefined> extends Window, Asked {
  /** All of the source, unless some are named. */
  readonly metrics?: readonly string[] | undefined;
  /** The server chooses one for the length of the window, unless it is given. */
  readonly interval?: I;
}

type AnySeries = Omit<RawSeries, 'tags'> | AggregatedSeries;

/**
 * All that the window holds, an answer of the server at a time: where one is cut off, the next one begins at its last time. The rows of that
 * time come with the next one only, as some of them may have been cut off.
 *
 * @param path of the source.
 */
export async function* pagesOf(access: Access, path: string, query: Query): AsyncGenerator<readonly Columns[], void> {
  const isWanted = filterOf(query.metrics);
  for (let parameters: Parameters = { ...fixed(query), interval: query.interval, metrics: listOf(query.metrics) }; ;) {
    const { series, interval, truncated } = await access.get<Series>(`${path}/metrics/query`, parameters, query);
    const times = Object.values<AnySeries>(series).map(({ timestamp_ms: ms }) => ms);
    const beforeMs = truncated ? Math.max(...times.map((ms) => ms.at(-1) ?? -Infinity)) : Infinity;
    if (truncated && !times.some(([first = Infinity]) => first < beforeMs))
      throw new HeadwaterError(`More than 10,000 rows are of ${isoOf(beforeMs)}: ask for fewer metrics at once.`, 'page_full');
    const page = Object.entries<AnySeries>(series)
      .filter(
        ([
          metric,
          {
            timestamp_ms: [first = Infinity],
          },
        ]) => isWanted(metric) && first < beforeMs,
      )
      .map(([metric, all]) => columnsOf(metric, interval, all, beforeMs));
    yield page;
    if (!truncated) return;
    parameters = { ...parameters, interval: query.interval ?? interval, start: isoOf(beforeMs) };
  }
}

/** The rows of a series before this time. */
function columnsOf(metric: string, interval: Interval, series: AnySeries, beforeMs: number): Columns {
  const rows = series.timestamp_ms.filter((ms) => ms < beforeMs).length;
  const columns = Object.entries<readonly number[]>({ ...series }).map(([name, all]) => [
    columnNames[name] ?? name,
    Float64Array.from(all.slice(0, rows)),
  ]);
  return { metric, interval, ...Object.fromEntries(columns) } as Columns;
}

/** What the server calls otherwise. */
const columnNames: Readonly<Record<string, string>> = { timestamp_ms: 'timestamps', value: 'values' };

/** Whether a metric is one of these, which all are where there are none. */
export function filterOf(names: readonly string[] = []): (metric: string) => boolean {
  const wanted = new Set(names);
  return (metric) => wanted.size === 0 || wanted.has(metric);
}

/** Names as a parameter holds them. Undefined when no list can, for a blank at an edge or a backslash at an end: then all are asked for. */
export function listOf(names: readonly string[] = []): string | undefined {
  if (names.some((name) => /^ | $|\\$/.test(name))) return undefined;
  return names.map((name) => name.replaceAll(',', '\\,')).join(',') || undefined;
}
