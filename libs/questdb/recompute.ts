import { clampedSum, downscale } from '#model';
import { foldOf, type Level, mayOverflow } from './levels.js';
import type { Bucket } from './lines.js';
import { type Question, questionsFor, type Span } from './questions.js';
import type { Series, SeriesNames } from './series-names.js';
import { oneOf, type Sql } from './sql.js';
import { StaleWindows } from './stale-windows.js';
import type { Tables } from './tables.js';

/** A row of a rollup and whose it is. */
export interface SeriesBucket {
  readonly series: Series;
  readonly bucket: Bucket;
}

/** Makes the rows of stale windows from what is stored, many at a time. */
export class Recompute {
  constructor(
    private readonly sql: Sql,
    private readonly tables: Tables,
    private readonly names: SeriesNames,
    private readonly partitionMs: Readonly<Record<Level['from'], number>>,
  ) {}

  /** Rows of the windows that have points. What they are made of must be visible. */
  async *rows(level: Level, windows: StaleWindows): AsyncGenerator<SeriesBucket[]> {
    for (const question of this.#questions(level, level.from, windows)) {
      const asked = await this.#ask(level, question, level.from, foldOf(level.from), windows);
      yield await this.#summed(level, asked.map(bucketOf));
    }
  }

  #questions({ sizeMs, cellMs }: Level, from: Level['from'], windows: StaleWindows): Question[] {
    return questionsFor(this.#named(windows), { sizeMs, cellMs, partitionMs: this.partitionMs[from] });
  }

  *#named(windows: StaleWindows): Generator<readonly [Series, ReadonlySet<number>]> {
    for (const [series, starts] of windows.bySeries()) yield [this.names.all[series]!, starts];
  }

  async #ask(level: Level, question: Question, from: Level['from'], fold: string, windows: StaleWindows): Promise<Asked[]> {
    const { org, sources, spans } = question;
    const rows = await this.sql.rows<AskedRow>(
      `SELECT timestamp_floor('${level.interval}', ts)::long / 1000 AS b, source, metric, ${fold} FROM ${this.tables[from]}
       WHERE org = $1 AND ${oneOf('source', 2, sources)} AND (${spans.map(inSpan).join(' OR ')}) GROUP BY b, source, metric`,
      [org, ...sources],
      60_000,
    );
    return rows.flatMap((row) => {
      const series = this.names.source(org, row[1]).get(row[2]);
      return series && windows.has(series.id, row[0]) ? [{ series, row }] : [];
    });
  }

  /** Sums that left the range of doubles on their way are made again from the points, smaller, and clamped. Without an answer there is no row. */
  async #summed(level: Level, buckets: SeriesBucket[]): Promise<SeriesBucket[]> {
    const large = new StaleWindows();
    for (const { series, bucket } of buckets) {
      if (mayOverflow(bucket.min, bucket.max, bucket.count)) large.add(series.id, bucket.startMs);
    }
    if (large.size === 0) return buckets;
    const sums = new Map<string, number>();
    for (const question of this.#questions(level, 'points', large)) {
      const asked = await this.#ask(level, question, 'points', `sum(value * ${downscale})`, large);
      for (const { series, row } of asked) sums.set(`${series.id} ${row[0]}`, clampedSum(row[3]! / downscale));
    }
    return buckets.flatMap(({ series, bucket }) => {
      const sum = large.has(series.id, bucket.startMs) ? sums.get(`${series.id} ${bucket.startMs}`) : bucket.sum;
      return sum === undefined ? [] : [{ series, bucket: { ...bucket, sum } }];
    });
  }
}

/** Start, source and metric, and what was folded. */
type AskedRow = readonly [startMs: number, source: string, metric: string, ...folded: number[]];

interface Asked {
  readonly series: Series;
  readonly row: AskedRow;
}

function bucketOf({ series, row }: Asked): SeriesBucket {
  const [startMs, , , min, max, sum, count] = row;
  return { series, bucket: { startMs, min: min!, max: max!, sum: sum!, count: count! } };
}

/** As text: only spans that stand in the statement are found by partition. */
const inSpan = ({ fromMs, toMs }: Span): string => `ts IN '${new Date(fromMs).toISOString()};${(toMs - fromMs) / 1000}s'`;
