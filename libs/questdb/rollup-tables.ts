import { bucketStartMs, clampedSum, downscale, type Lease, TelemetryError } from '#model';
import { type Bucket, mayOverflow, type RollupDatabase, type RollupLevel, type SeriesBucket, WindowSet } from '#stores';
import { Delivery, Refused, Signal, type LinePath } from './delivery.js';
import { Lines } from './lines.js';
import { type Question, questionsFor, type Span } from './questions.js';
import { type Series, type SeriesNames, sourceKey } from './series-names.js';
import { oneOf, type SqlRow, type Sql } from './sql.js';
import type { Kept } from './kept.js';
import { foldOf, isThere, type Level, levels, partitionMs, type Partitioning, type Tables } from './tables.js';

/** Partitions that one commit touches. */
const maxPartitions = 50;
/** Questions about a whole day may read a row of every series there is. */
const patienceMs = 60_000;

export interface RollupParts {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly names: SeriesNames;
  readonly partitioning: Partitioning;
  readonly kept: Kept;
}

/** The stored rollups of one generation, for what comes under one lease. */
export class RollupTables implements RollupDatabase {
  readonly levels: readonly RollupLevel[];
  readonly #names: SeriesNames;
  readonly #delivery: Delivery;
  readonly #giveUp: () => void;

  constructor(
    path: LinePath,
    private readonly parts: RollupParts,
    lease: Lease,
  ) {
    this.#names = parts.names;
    this.#delivery = new Delivery(path, lease, new Signal());
    this.#giveUp = () => path.outage.check();
    this.levels = levels.map((level) => new RollupTable(level, parts, path, this.#delivery));
  }

  get keptFromMs(): number {
    return this.parts.kept.known.raw;
  }

  get seriesCount(): number {
    return this.#names.all.length;
  }

  sourceOf(series: number): string {
    const { org, source } = this.#names.all[series]!;
    return sourceKey(org, source);
  }

  visible(): Promise<void> {
    return this.#delivery.visible(this.#giveUp);
  }

  check(): void {
    this.#delivery.check();
  }

  /** Sends nothing any more. */
  end(): void {
    this.#delivery.end();
  }
}

/** Start, source and metric, and what was folded. */
type FoldedRow = readonly [startMs: number, source: string, metric: string, ...folded: number[]];

interface Folded {
  readonly series: number;
  readonly row: FoldedRow;
}

/** The table of one level. */
class RollupTable implements RollupLevel {
  readonly sizeMs: number;
  readonly maxOpen: number;
  readonly #partitionMs: ReturnType<typeof partitionMs>;
  /** As it stands in a line. */
  readonly #table: Buffer;

  constructor(
    private readonly level: Level,
    private readonly parts: RollupParts,
    private readonly path: LinePath,
    private readonly delivery: Delivery,
  ) {
    this.sizeMs = level.sizeMs;
    this.maxOpen = level.maxOpen;
    this.#partitionMs = partitionMs(parts.partitioning);
    this.#table = Buffer.from(parts.tables[level.table]);
  }

  /** The question names no source: one that is asked for by name may be overlooked (see `Lookups`), and its row would then be replaced. */
  sourcesWithRow(startMs: number, take: (source: string) => void): Promise<void> {
    const asked = `SELECT DISTINCT org, source FROM ${this.parts.tables[this.level.table]} WHERE ts = $1 AND ${isThere}`;
    const takeRow = (row: SqlRow): void => take(sourceKey(...(row as [org: string, source: string])));
    return this.parts.sql.each(asked, [`${startMs}000`], takeRow, patienceMs);
  }

  async *fold(windows: WindowSet): AsyncGenerator<SeriesBucket[]> {
    const { from } = this.level;
    for (const question of this.#questions(from, windows)) {
      const folded = await this.#ask(question, from, foldOf(from), windows);
      yield await this.#summed(folded.map(bucketOf));
    }
  }

  async send(rows: readonly SeriesBucket[]): Promise<void> {
    const lines = new Lines();
    for (const { series, bucket } of rows) {
      lines.bucket(this.#table, this.parts.names.all[series]!.symbols, { ...bucket, sum: clampedSum(bucket.sum) || 0 });
    }
    try {
      await this.delivery.send(this.path.sink, lines.pieces, this.#giveUp);
    } catch (cause) {
      // A bucket is folded from many records and none of them is to blame: the next checkpoint tries again, and the operator is told.
      if (cause instanceof Refused) this.path.outage.began(cause);
      throw cause;
    }
    this.path.figures.rows.rollups += rows.length;
  }

  async sendAnywhere(rows: readonly SeriesBucket[]): Promise<void> {
    // Asked for after they were folded: the points of a bucket that is kept now were all there.
    const { raw } = await this.parts.kept.now();
    const whole = rows.filter(({ bucket }) => bucket.startMs >= raw);
    for (const some of byPartitions(whole, this.#partitionMs[this.level.table])) {
      await this.send(some);
      await this.delivery.visible(this.#giveUp);
    }
  }

  /** A question that names a source may overlook it while the table takes in new ones: see `Lookups`. */
  sourceVisible(): Promise<void> {
    return this.delivery.untilItWorks(() => this.delivery.shows([this.parts.tables[this.level.from]]), this.#giveUp);
  }

  unanswered(windows: WindowSet): Error {
    this.path.figures.unanswered += windows.size;
    const [[series, starts]] = [...windows.bySeries()] as [[number, ReadonlySet<number>]];
    const { org, source, metric } = this.parts.names.all[series]!;
    const first = `${metric} of ${source} of ${org} at ${new Date(Math.min(...starts)).toISOString()}`;
    const why = `QuestDB answers nothing for ${windows.size} buckets of ${this.level.interval} that have points, as for ${first}: they are asked for again.`;
    return new TelemetryError('store_unavailable', why, { retryAfterS: 1 });
  }

  readonly #giveUp = (): void => this.path.outage.check();

  #questions(from: Level['from'], windows: WindowSet): Question[] {
    const { sizeMs, cellMs } = this.level;
    return questionsFor(this.#named(windows), { sizeMs, cellMs, partitionMs: this.#partitionMs[from] });
  }

  *#named(windows: WindowSet): Generator<readonly [Series, ReadonlySet<number>]> {
    for (const [series, starts] of windows.bySeries()) yield [this.parts.names.all[series]!, starts];
  }

  async #ask({ org, sources, spans }: Question, from: Level['from'], fold: string, windows: WindowSet): Promise<Folded[]> {
    const rows = await this.parts.sql.rows<FoldedRow>(
      `SELECT timestamp_floor('${this.level.interval}', ts)::long / 1000 AS b, source, metric, ${fold} FROM ${this.parts.tables[from]}
       WHERE org = $1 AND ${oneOf('source', 2, sources)} AND (${spans.map(inSpan).join(' OR ')}) GROUP BY b, source, metric`,
      [org, ...sources],
      patienceMs,
    );
    return rows.flatMap((row) => {
      const series = this.parts.names.source(org, row[1]).get(row[2])?.id;
      return series !== undefined && windows.has(series, row[0]) ? [{ series, row }] : [];
    });
  }

  /**
   * Sums that left the range of doubles on their way are made again from the points, scaled down, and clamped. A bucket whose points are not
   * found then is left out.
   */
  async #summed(buckets: SeriesBucket[]): Promise<SeriesBucket[]> {
    const large = new WindowSet();
    for (const { series, bucket } of buckets) {
      if (mayOverflow(bucket)) large.add(series, bucket.startMs);
    }
    if (large.size === 0) return buckets;
    const sums = new Map<string, number>();
    for (const question of this.#questions('points', large)) {
      const folded = await this.#ask(question, 'points', `sum(value * ${downscale})`, large);
      for (const { series, row } of folded) sums.set(`${series} ${row[0]}`, clampedSum(row[3]! / downscale));
    }
    return buckets.flatMap(({ series, bucket }) => {
      const sum = large.has(series, bucket.startMs) ? sums.get(`${series} ${bucket.startMs}`) : bucket.sum;
      return sum === undefined ? [] : [{ series, bucket: { ...bucket, sum } }];
    });
  }
}

function bucketOf({ series, row }: Folded): SeriesBucket {
  const [startMs, , , min, max, sum, count] = row;
  const bucket: Bucket = { startMs, min: min!, max: max!, sum: sum!, count: count! };
  return { series, bucket };
}

/** As text: QuestDB finds the partitions of a span only when it stands in the statement. */
const inSpan = ({ fromMs, toMs }: Span): string => `ts IN '${new Date(fromMs).toISOString()};${(toMs - fromMs) / 1000}s'`;

/** Rows of a bounded number of partitions each. */
function* byPartitions(rows: readonly SeriesBucket[], sizeMs: number): Generator<SeriesBucket[]> {
  const partitions = Map.groupBy(rows, ({ bucket }) => bucketStartMs(bucket.startMs, sizeMs));
  const all = [...partitions.values()];
  for (let from = 0; from < all.length; from += maxPartitions) yield all.slice(from, from + maxPartitions).flat();
}
