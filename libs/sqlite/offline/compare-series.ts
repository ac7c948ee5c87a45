import { rollupIntervals, TelemetryError, type Interval } from '#model';
import type { BucketColumns, SeriesQuery, SeriesStore } from '#stores';
import type { SourceCensus } from './census.js';
import type { Findings } from './findings.js';
import type { Rows, SeriesFold } from './series-fold.js';

const intervals: readonly Interval[] = ['raw', ...rollupIntervals];
const pageRows = 50_000;

/** Compares what the store answers of some series of a source, at every interval. Returns how many rows that are. */
export async function compareSeries(
  store: SeriesStore,
  source: SourceCensus,
  folds: ReadonlyMap<string, SeriesFold>,
  findings: Findings,
): Promise<number> {
  let rows = 0;
  const deduplicated = new Map(Array.from(folds, ([metric, fold]) => [metric, fold.deduplicated()]));
  for (const interval of intervals) {
    const comparisons = new Map(
      Array.from(deduplicated, ([metric, fold]) => [metric, new Comparison(source, metric, interval, fold.rows(interval), findings)]),
    );
    await readAll(store, source, interval, comparisons);
    for (const comparison of comparisons.values()) rows += comparison.end();
  }
  return rows;
}

/** Reads them together and, when that meets damage, one by one, so that each undamaged series is compared. */
async function readAll(
  store: SeriesStore,
  source: SourceCensus,
  interval: Interval,
  comparisons: ReadonlyMap<string, Comparison>,
): Promise<void> {
  try {
    for await (const [metric, rows] of pages(store, source, [...comparisons.keys()], interval)) comparisons.get(metric)?.take(rows);
  } catch (cause) {
    if (!(cause instanceof TelemetryError) || cause.code !== 'store_corrupt') throw cause;
    for (const [metric, comparison] of comparisons) {
      comparison.restart();
      if (comparisons.size > 1) await readAll(store, source, interval, new Map([[metric, comparison]]));
      else comparison.damaged(cause.message);
    }
  }
}

async function* pages(
  store: SeriesStore,
  { orgId, sourceId }: SourceCensus,
  metrics: readonly string[],
  interval: Interval,
): AsyncGenerator<readonly [metric: string, rows: Rows]> {
  let limit = Math.max(pageRows, 2 * metrics.length);
  for (let startMs = 0, more = true; more;) {
    const query: SeriesQuery = { orgId, sourceId, metrics, window: { startMs, endMs: 1e16 }, limit };
    const { series, truncated } = await ask(store, query, interval);
    more = truncated;
    // At its last time a page that was cut may lack some series: the next one begins there.
    const endMs = truncated ? Math.max(...series.map(([, { timestampMs }]) => timestampMs[timestampMs.length - 1]!)) : Infinity;
    for (const [metric, rows] of series) yield [metric, before(rows, endMs)];
    // More points than a page holds may have one time.
    if (endMs === startMs) limit *= 2;
    startMs = endMs;
  }
}

interface Page {
  readonly series: readonly (readonly [metric: string, rows: Rows])[];
  readonly truncated: boolean;
}

async function ask(store: SeriesStore, query: SeriesQuery, interval: Interval): Promise<Page> {
  if (interval === 'raw') {
    const { series, truncated } = await store.raw(query);
    return { truncated, series: series.map(({ metric, timestampMs, value }) => [metric, { timestampMs, columns: { value } }]) };
  }
  const { series, truncated } = await store.buckets({ ...query, interval });
  return { truncated, series: series.map((one) => [one.metric, bucketRows(one)]) };
}

const bucketRows = ({ timestampMs, count, min, max, avg }: BucketColumns): Rows => ({ timestampMs, columns: { count, min, max, avg } });

function before({ timestampMs, columns }: Rows, endMs: number): Rows {
  let length = timestampMs.length;
  while (length > 0 && timestampMs[length - 1]! >= endMs) length--;
  return { timestampMs: Array.prototype.slice.call(timestampMs, 0, length), columns };
}

/** Holds the rows of one series at one interval against those that it should have, as they come. */
class Comparison {
  #at = 0;
  #damaged = false;

  constructor(
    private readonly source: SourceCensus,
    private readonly metric: string,
    private readonly interval: Interval,
    private readonly expected: Rows,
    private readonly findings: Findings,
  ) {}

  take(found: Rows): void {
    for (let at = 0; at < found.timestampMs.length; at++) {
      const timestampMs = found.timestampMs[at]!;
      this.#missing(timestampMs);
      if (this.expected.timestampMs[this.#at] !== timestampMs) this.#add(timestampMs, 'nothing', rowText(found, at));
      else this.#compare(this.#at++, found, at);
    }
  }

  restart(): void {
    this.#at = 0;
  }

  damaged(message: string): void {
    this.#damaged = true;
    const { orgId, sourceId } = this.source;
    this.findings.add({ what: 'damage', orgId, sourceId, metric: this.metric, expected: `${this.interval} rows`, found: message });
  }

  /** Nothing more comes. Returns how many rows there should be. */
  end(): number {
    if (!this.#damaged) this.#missing(Infinity);
    return this.expected.timestampMs.length;
  }

  #missing(beforeMs: number): void {
    const { timestampMs } = this.expected;
    for (; timestampMs[this.#at]! < beforeMs; this.#at++) this.#add(timestampMs[this.#at]!, rowText(this.expected, this.#at), 'nothing');
  }

  #compare(at: number, found: Rows, foundAt: number): void {
    const same = Object.entries(this.expected.columns).every(([name, column]) => {
      const [one, other] = [column[at]!, found.columns[name]![foundAt]!];
      return one === other || (name === 'avg' && Math.abs(one - other) <= this.#tolerance(at));
    });
    if (!same) this.#add(found.timestampMs[foundAt]!, rowText(this.expected, at), rowText(found, foundAt));
  }

  #tolerance(at: number): number {
    const { min, max } = this.expected.columns;
    return 1e-9 * Math.max(Math.abs(min![at]!), Math.abs(max![at]!));
  }

  #add(timestampMs: number, expected: string, found: string): void {
    const { orgId, sourceId } = this.source;
    this.findings.add({ what: this.interval, orgId, sourceId, metric: this.metric, timestampMs, expected, found });
  }
}

function rowText({ columns }: Rows, at: number): string {
  return Object.entries(columns)
    .map(([name, column]) => `${name} ${column[at]}`)
    .join(', ');
}
