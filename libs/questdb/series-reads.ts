import {
  averageOf,
  bucketStartMs,
  bucketWindow,
  compareUtf8,
  downscale,
  eachInSteps,
  type Interval,
  intervalMs,
  noTags,
  type RollupInterval,
  sortedInSteps,
  stepEntries,
  type Tags,
  type Window,
} from '#model';
import {
  type BucketAnswer,
  type BucketColumns,
  type FleetAnswer,
  type FleetQuery,
  inTurns,
  mayOverflow,
  type RawAnswer,
  type RawQuery,
  type SeriesQuery,
  keptKindOf,
} from '#stores';
import { foldOf, levels, type Tables } from './tables.js';
import type { Kept } from './kept.js';
import type { Lookups } from './lookups.js';
import { chunks } from './questions.js';
import { since, type Slices, sqlWindow } from './slices.js';
import { oneOf, type Value } from './sql.js';

/** Rows of buckets that ended less than this ago are not taken: the points and finer rows say more. */
const settledAfterMs = 600_000;
const hourMs = intervalMs['1h'];
/** Names in one question. */
const maxNames = 2000;

/** Which rows are meant, as conditions with places for values. */
interface Filter {
  readonly where: string;
  readonly values: readonly Value[];
  /** The column that tells series of the answer apart. */
  readonly name: 'metric' | 'source';
}

/** A row of an answer: the name is that of a metric or of a source. */
interface NamedRow {
  /** Of a bucket its start, of a point its time. */
  readonly startMs: number;
  readonly name: string;
}

interface NamedValue extends NamedRow {
  readonly value: number;
  /** Undefined for none, and where they were not asked for. */
  readonly tags?: Tags;
}

interface NamedBucket extends NamedRow {
  min: number;
  max: number;
  /** Means nothing where it may have left the range of doubles. */
  sum: number;
  count: number;
  /** Where the sum means nothing. */
  avg?: number;
}

/** A part of the window that is read from one table. */
interface Piece {
  readonly from: keyof Tables;
  readonly window: Window;
}

/** Answers from the tables of one generation. */
export class SeriesReads {
  constructor(
    private readonly sql: Pick<Lookups, 'rows'>,
    private readonly tables: Tables,
    private readonly slices: Slices,
    private readonly kept: Kept,
    private readonly clock: () => number,
  ) {}

  async metricNames(orgId: string, sourceId: string): Promise<string[]> {
    const rows = await this.sql.rows(`SELECT DISTINCT metric FROM ${this.tables.metrics} WHERE org = $1 AND source = $2`, [
      orgId,
      sourceId,
    ]);
    return inTurns(sortedInSteps(await inTurns(eachInSteps(rows, ([metric]) => metric as string))));
  }

  async latest(orgId: string, sourceId: string, window: Window): Promise<[string, number][]> {
    const newest = new Map<string, number>();
    for (const slice of await this.slices.of('points', await this.#kept('raw', window))) {
      // Points of equal times differ in their tags, and the last of them counts in the order of raw series.
      const rows = await this.sql.rows(
        `SELECT metric, last(value) FROM (
           SELECT metric, tags, last(ts) AS newest, last(value) AS value FROM ${this.tables.points}
           WHERE org = $1 AND source = $2 AND ts >= $3 AND ts < $4 ORDER BY newest, tags::varchar)`,
        [orgId, sourceId, ...sqlWindow(slice)],
      );
      await inTurns(eachInSteps(rows, ([metric, value]) => void newest.set(metric as string, value as number)));
    }
    const metrics = await inTurns(sortedInSteps([...newest.keys()]));
    return inTurns(eachInSteps(metrics, (metric): [string, number] => [metric, newest.get(metric)!]));
  }

  async raw(query: RawQuery): Promise<RawAnswer> {
    const kept = { ...query, window: await this.#kept('raw', query.window) };
    const rows = await firstOf(filtersOf(query), (filter) => this.#rawRows(filter, kept));
    const { series, truncated } = await answerOf(rows, query.limit, (its) => ({
      timestampMs: Float64Array.from(its, ({ startMs }) => startMs),
      value: Float64Array.from(its, ({ value }) => value),
      tags: query.withTags ? its.map(({ tags }) => tags ?? noTags) : [],
    }));
    return {
      series: series.map(({ metric, timestampMs, value }) => ({ metric, timestampMs, value })),
      ...(query.withTags && { tags: series.map(({ tags }) => tags) }),
      truncated,
    };
  }

  async buckets(query: SeriesQuery & { readonly interval: RollupInterval }): Promise<BucketAnswer> {
    const kept = { ...query, window: await this.#kept(query.interval, query.window) };
    const rows = await firstOf(filtersOf(query), (filter) => this.#rows(filter, kept));
    return answerOf(rows, query.limit, columnsOf);
  }

  async fleet(asked: FleetQuery): Promise<FleetAnswer> {
    if (asked.sources?.ranges.length === 0) return { sources: [], columns: columnsOf([]), truncated: false };
    const query = { ...asked, window: await this.#kept(asked.interval, asked.window) };
    const filter = fleetFilterOf(query);
    const rows = await this.#rows(filter, query);
    const truncated = rows.length > query.limit;
    const kept = Map.groupBy(rows.slice(0, query.limit), ({ name }) => name);
    const names = await inTurns(sortedInSteps(truncated ? await this.#names(filter, query) : [...kept.keys()]));
    const ordered: NamedBucket[] = [];
    const source = (sourceId: string): FleetAnswer['sources'][number] => {
      const its = kept.get(sourceId) ?? [];
      ordered.push(...its);
      return { sourceId, rows: its.length };
    };
    return { sources: await inTurns(eachInSteps(names, source)), columns: columnsOf(ordered), truncated };
  }

  /** What is kept of a window. */
  async #kept(interval: Interval, window: Window): Promise<Window> {
    return since(window, (await this.kept.fresh())[keptKindOf[interval]]);
  }

  /** The first points, one more than the limit if there are more, ordered by time, name and tags, all by bytes of UTF-8, no tags first. */
  async #rawRows(filter: Filter, { window, limit, withTags }: RawQuery): Promise<NamedValue[]> {
    const rows: NamedValue[] = [];
    for (const slice of await this.slices.of('points', window)) {
      const left = limit + 1 - rows.length;
      if (left === 0) break;
      const { where, values } = withWindow(filter, slice);
      const select = `SELECT ts::long / 1000, metric, value${withTags ? ', tags' : ''} FROM ${this.tables.points} WHERE ${where}`;
      const answer = await this.sql.rows<[number, string, number, (Tags | null)?]>(
        `${select} ORDER BY ts, metric::varchar, tags::varchar LIMIT ${left}`,
        values,
      );
      for (const [startMs, name, value, tags] of answer) rows.push({ startMs, name, value, ...(tags && { tags }) });
    }
    return rows;
  }

  /** The first rows, one more than the limit if there are more, ordered by time and name. */
  async #rows(filter: Filter, { window, interval, limit }: Asked): Promise<NamedBucket[]> {
    const rows: NamedBucket[] = [];
    const pieces = await this.#pieces(window, interval);
    // A source has few rows, a fleet may have enough in an hour of a month.
    const parts =
      filter.name === 'source' ? pieces.flatMap((piece) => (isStored(piece.from, interval) ? piece : [...growing(piece)])) : pieces;
    for (const piece of parts) {
      const startMs = bucketStartMs(piece.window.startMs, intervalMs[interval]);
      if (rows.length > limit && rows[limit]!.startMs < startMs) break;
      add(rows, await this.#fold(filter, piece, interval, limit + 1));
    }
    const kept = rows.slice(0, limit + 1);
    await this.#averageAgain(filter, interval, kept.filter(mayOverflow));
    return kept;
  }

  async #fold(filter: Filter, { from, window }: Piece, interval: RollupInterval, limit: number): Promise<NamedBucket[]> {
    const { where, values } = withWindow(filter, window);
    const name = filter.name === 'metric' ? 'metric::varchar' : 'source::varchar';
    const rows = isStored(from, interval)
      ? `SELECT ts::long / 1000 AS b, ${filter.name}, min, max, sum, count FROM ${this.tables[from]} WHERE ${where} ORDER BY ts, ${name} LIMIT ${limit}`
      : `SELECT timestamp_floor('${interval}', ts)::long / 1000 AS b, ${filter.name}, ${foldOf(from)} FROM ${this.tables[from]}
         WHERE ${where} GROUP BY b, ${filter.name} ORDER BY b, ${name} LIMIT ${limit}`;
    const answer = await this.sql.rows<[number, string, number, number, number | null, number]>(rows, values);
    return answer.map(([startMs, its, min, max, sum, count]) => ({ startMs, name: its, min, max, sum: sum ?? Number.NaN, count }));
  }

  /** Where a sum may have left the range of doubles, or been clamped, the average is made from the points. */
  async #averageAgain(filter: Filter, interval: RollupInterval, large: readonly NamedBucket[]): Promise<void> {
    if (large.length === 0) return;
    const sums = new Map<string, number>();
    const window = { startMs: large[0]!.startMs, endMs: large.at(-1)!.startMs + intervalMs[interval] };
    for (const slice of await this.slices.of('points', window)) {
      const { where, values } = withWindow(filter, slice);
      const rows = await this.sql.rows<[number, string, number]>(
        `SELECT timestamp_floor('${interval}', ts)::long / 1000 AS b, ${filter.name}, sum(value * ${downscale})
         FROM ${this.tables.points} WHERE ${where} GROUP BY b, ${filter.name}`,
        values,
      );
      for (const [startMs, name, sum] of rows) sums.set(`${startMs} ${name}`, sum);
    }
    for (const row of large) row.avg = averageOf(sums.get(`${row.startMs} ${row.name}`) ?? row.sum * downscale, row);
  }

  async #names(filter: Filter, asked: Asked): Promise<string[]> {
    const names = new Set<string>();
    for (const piece of await this.#namePieces(asked)) {
      const { where, values } = withWindow(filter, piece.window);
      const rows = await this.sql.rows(`SELECT DISTINCT ${filter.name} FROM ${this.tables[piece.from]} WHERE ${where}`, values);
      await inTurns(eachInSteps(rows, ([name]) => void names.add(name as string)));
    }
    return [...names];
  }

  /** Whole hours are read from their own rows, which are fewer. */
  async #namePieces({ window, interval }: Asked): Promise<Piece[]> {
    const { startMs } = bucketWindow(window, interval);
    const fromMs = Math.min(window.endMs, hourMs * Math.ceil(startMs / hourMs));
    const toMs = Math.max(fromMs, bucketStartMs(window.endMs, hourMs));
    if (intervalMs[interval] >= hourMs || fromMs === toMs) return this.#pieces(window, interval);
    const parts = [
      this.#pieces({ startMs, endMs: fromMs }, interval),
      this.#pieces({ startMs: fromMs, endMs: toMs }, '1h'),
      this.#pieces({ startMs: toMs, endMs: window.endMs }, interval),
    ];
    return (await Promise.all(parts)).flat();
  }

  /** The coarsest rows that are settled, then finer ones, then points; in order of time. */
  async #pieces(asked: Window, interval: RollupInterval): Promise<Piece[]> {
    const { startMs } = bucketWindow(asked, interval);
    const endMs = startMs + intervalMs[interval] * Math.ceil((asked.endMs - startMs) / intervalMs[interval]);
    // Of what lies before the points that are kept there are only rows, whatever the time is here.
    const settledMs = Math.max(this.clock() - settledAfterMs, this.kept.known.raw);
    const usable = levels.filter(({ sizeMs }) => sizeMs <= intervalMs[interval]).toReversed();
    const pieces: Piece[] = [];
    let fromMs = startMs;
    for (const { table, sizeMs } of usable) {
      const toMs = Math.min(endMs, bucketStartMs(settledMs, sizeMs));
      pieces.push({ from: table, window: { startMs: fromMs, endMs: toMs } });
      fromMs = Math.max(fromMs, toMs);
    }
    pieces.push({ from: 'points', window: { startMs: fromMs, endMs } });
    const sliced = pieces
      .filter(({ window }) => window.startMs < window.endMs)
      .map(async ({ from, window }) => (await this.slices.of(from, window)).map((slice) => ({ from, window: slice })));
    return (await Promise.all(sliced)).flat();
  }
}

/** Whether a bucket of this size is one row of the table. */
const isStored = (from: keyof Tables, interval: RollupInterval): boolean =>
  levels.some((level) => level.table === from && level.interval === interval);

/** Parts that are twice as long each, from an hour on: whoever has enough rows soon has not read much more than these. */
function* growing({ from, window }: Piece): Generator<Piece> {
  for (let { startMs } = window, lengthMs = hourMs; startMs < window.endMs; lengthMs *= 2) {
    const endMs = Math.min(window.endMs, bucketStartMs(startMs, hourMs) + lengthMs);
    yield { from, window: { startMs, endMs } };
    startMs = endMs;
  }
}

type Asked = Pick<FleetQuery, 'window' | 'interval' | 'limit'>;

/** What is to be asked for one after the other. */
function filtersOf({ orgId, sourceId, metrics }: SeriesQuery): Filter[] {
  const where = 'org = $1 AND source = $2';
  if (!metrics) return [{ where, values: [orgId, sourceId], name: 'metric' }];
  // By their text: of several that are looked up one might not be found, see `Lookups`.
  return chunks([...new Set(metrics)], maxNames).map((names) => ({
    where: `${where} AND ${oneOf('metric::varchar', 3, names)}`,
    values: [orgId, sourceId, ...names],
    name: 'metric',
  }));
}

function fleetFilterOf({ orgId, metric, sources }: FleetQuery): Filter {
  const where = 'org = $1 AND metric = $2';
  if (!sources) return { where, values: [orgId, metric], name: 'source' };
  const ids = sources.ranges.filter(({ isPrefix }) => !isPrefix).map(({ text }) => text);
  const beginnings = sources.ranges.filter(({ isPrefix }) => isPrefix).map(({ text }) => text);
  const conditions = [
    ...(ids.length > 0 ? [oneOf('source::varchar', 3, ids)] : []),
    ...beginnings.map(({ length }, at) => `left(source::varchar, ${length}) = $${3 + ids.length + at}`),
  ];
  return {
    where: `${where} AND (${conditions.join(' OR ')})`,
    values: [orgId, metric, ...ids, ...beginnings],
    name: 'source',
  };
}

/** The first rows under any of the filters, when `ask` gives the first ones under each. */
async function firstOf<R extends NamedRow>(filters: readonly Filter[], ask: (filter: Filter) => Promise<R[]>): Promise<R[]> {
  let rows: R[] = [];
  for (const filter of filters) rows = rows.concat(await ask(filter));
  return filters.length > 1 ? rows.sort(inOrder) : rows;
}

/** The first rows as columns of each series. */
async function answerOf<R extends NamedRow, C>(rows: readonly R[], limit: number, columns: (its: readonly R[]) => C) {
  const kept = Map.groupBy(rows.slice(0, limit), ({ name }) => name);
  const metrics = await inTurns(sortedInSteps([...kept.keys()]));
  const series = eachInSteps(metrics, (metric) => ({ metric, ...columns(kept.get(metric)!) }), stepEntries);
  return { series: await inTurns(series), truncated: rows.length > limit };
}

function withWindow({ where, values }: Filter, window: Window): { where: string; values: Value[] } {
  const at = values.length;
  return { where: `${where} AND ts >= $${at + 1} AND ts < $${at + 2}`, values: [...values, ...sqlWindow(window)] };
}

/** Adds rows that come after these, but for a bucket in which both have rows. */
function add(rows: NamedBucket[], more: readonly NamedBucket[]): void {
  const sharedMs = more[0]?.startMs;
  const from = rows.findIndex(({ startMs }) => startMs === sharedMs);
  if (from < 0) {
    rows.push(...more);
    return;
  }
  const shared = new Map(rows.splice(from).map((row) => [row.name, row]));
  const rest = more.filter((row) => !(row.startMs === sharedMs && combined(shared, row)));
  rows.push(...[...shared.values(), ...rest].sort(inOrder));
}

const inOrder = (a: NamedRow, b: NamedRow): number => a.startMs - b.startMs || compareUtf8(a.name, b.name);

function combined(shared: Map<string, NamedBucket>, { name, min, max, sum, count }: NamedBucket): boolean {
  const row = shared.get(name);
  if (!row) return false;
  row.min = Math.min(row.min, min);
  row.max = Math.max(row.max, max);
  row.sum += sum;
  row.count += count;
  return true;
}

function columnsOf(rows: readonly NamedBucket[]): BucketColumns {
  return {
    timestampMs: Float64Array.from(rows, ({ startMs }) => startMs),
    min: Float64Array.from(rows, ({ min }) => min),
    max: Float64Array.from(rows, ({ max }) => max),
    avg: Float64Array.from(rows, ({ sum, count, avg }) => avg ?? sum / count),
    count: Float64Array.from(rows, ({ count }) => count),
  };
}
