import { rollupIntervals, TelemetryError, type Interval } from '#model';
import type { SeriesQuery, SeriesStore } from '#stores';
import type { SourceCensus } from './census.js';
import type { Findings } from './findings.js';
import type { Rows, SeriesFold } from './series-fold.js';

const intervals: readonly Interval[] = ['raw', ...rollupIntervals];
const pageRows = 50_000;

/**
 * Compares what the store answers of some series of a source from a time on, at every interval. Returns how many rows that are.
 * @param isWhole whether the store can have no other points.
 */
export async function compareSeries(
  store: SeriesStore,
  source: SourceCensus,
  folds: ReadonlyMap<string, SeriesFold>,
  findings: Findings,
  isWhole: boolean,
  fromMs: number,
): Promise<number> {
  let rows = 0;
  const deduplicated = new Map(Array.from(folds, ([metric, fold]) => [metric, fold.deduplicated()]));
  for (const interval of intervals) {
    const comparisons = new Map(
      Array.from(deduplicated, ([metric, fold]) => [
        metric,
        new Comparison(source, metric, interval, fold.rows(interval), findings, isWhole),
      ]),
    );
    await readAll(store, source, interval, comparisons, fromMs);
    for (const comparison of comparisons.values()) rows += comparison.end();
  }
  return rows;
}

/** Reads the series together and, when one of them is damaged, one by one, so that each undamaged series is compared. */
async function readAll(
  store: SeriesStore,
  source: SourceCensus,
  interval: Interval,
  comparisons: ReadonlyMap<string, Comparison>,
  fromMs: number,
): Promise<void> {
  try {
    for await (const [metric, rows] of pages(store, source, [...comparisons.keys()], interval, fromMs)) comparisons.get(metric)?.take(rows);
  } catch (cause) {
    if (!(cause instanceof TelemetryError) || cause.code !== 'store_corrupt') throw cause;
    for (const [metric, comparison] of comparisons) {
      comparison.restart();
      if (comparisons.size > 1) await readAll(store, source, interval, new Map([[metric, comparison]]), fromMs);
      else comparison.damaged(cause.message);
    }
  }
}

async function* pages(
  store: SeriesStore,
  { orgId, sourceId }: SourceCensus,
  metrics: readonly string[],
  interval: Interval,
  fromMs: number,
): AsyncGenerator<readonly [metric: string, rows: Rows]> {
  let limit = Math.max(pageRows, 2 * metrics.length);
  for (let startMs = fromMs, more = true; more;) {
    const query: SeriesQuery = { orgId, sourceId, metrics, window: { startMs, endMs: 1e16 }, limit };
    const { series, truncated } = await (interval === 'raw' ? store.raw(query) : store.buckets({ ...query, interval }));
    more = truncated;
    // A page that was cut may lack some series at its last time: the next page begins there.
    const endMs = truncated ? Math.max(...series.map(({ timestampMs }) => timestampMs.at(-1)!)) : Infinity;
    for (const { metric, timestampMs, ...columns } of series) yield [metric, before({ timestampMs, columns }, endMs)];
    // One time may have more points than a page holds.
    if (endMs === startMs) limit *= 2;
    startMs = endMs;
  }
}

function before({ timestampMs, columns }: Rows, endMs: number): Rows {
  let length = timestampMs.length;
  while (length > 0 && timestampMs[length - 1]! >= endMs) length--;
  return { timestampMs: Array.prototype.slice.call(timestampMs, 0, length), columns };
}

/** Compares the rows of one series at one interval with those that it should have, as they come. */
class Comparison {
  #at = 0;
  #damaged = false;

  constructor(
    private readonly source: SourceCensus,
    private readonly metric: string,
    private readonly interval: Interval,
    private readonly expected: Rows,
    private readonly findings: Findings,
    private readonly isWhole: boolean,
  ) {}

  take(found: Rows): void {
    for (let at = 0; at < found.timestampMs.length; at++) {
      const timestampMs = found.timestampMs[at]!;
      this.#missing(timestampMs);
      const isExpected = this.expected.timestampMs[this.#at] === timestampMs && !this.#isAnother(found, at);
      if (isExpected) this.#compare(this.#at++, found, at);
      else if (this.isWhole) this.#add(timestampMs, 'nothing', rowText(found, at));
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

  /** To be called after the last row. Returns how many rows there should be. */
  end(): number {
    if (!this.#damaged) this.#missing(Infinity);
    return this.expected.timestampMs.length;
  }

  #missing(beforeMs: number): void {
    const { timestampMs } = this.expected;
    for (; timestampMs[this.#at]! < beforeMs; this.#at++) this.#add(timestampMs[this.#at]!, rowText(this.expected, this.#at), 'nothing');
  }

  /** Whether a point is one that only the store has, beside the expected one of that time, which has other tags. */
  #isAnother(found: Rows, at: number): boolean {
    const isLast = found.timestampMs[at + 1] !== found.timestampMs[at];
    return !this.isWhole && !isLast && this.interval === 'raw' && found.columns['value']![at] !== this.expected.columns['value']![this.#at];
  }

  #compare(at: number, found: Rows, foundAt: number): void {
    if (!this.isWhole && mayHaveMore(this.expected.columns, at, found.columns, foundAt)) return;
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

/** Whether a bucket has more points than another one, which may be among them. */
function mayHaveMore({ count, min, max }: Rows['columns'], at: number, found: Rows['columns'], foundAt: number): boolean {
  const isBucket = count !== undefined && min !== undefined && max !== undefined;
  return isBucket && found['count']![foundAt]! > count[at]! && found['min']![foundAt]! <= min[at]! && found['max']![foundAt]! >= max[at]!;
}

const columnNames = ['value', 'count', 'min', 'max', 'avg'];

function rowText({ columns }: Rows, at: number): string {
  const named = columnNames.filter((name) => columns[name]);
  return named.map((name) => `${name} ${columns[name]![at]}`).join(', ');
}
