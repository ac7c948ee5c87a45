import { setImmediate } from 'node:timers/promises';
import { bucketStartMs, clampedSum, type Lease, TelemetryError } from '#model';
import { Delivery, type Way } from './delivery.js';
import { KnownRows } from './known-rows.js';
import { levels, type Level, mayOverflow } from './levels.js';
import { Refused } from './line-sink.js';
import { Lines, type Bucket } from './lines.js';
import { OpenWindows } from './open-windows.js';
import { Recompute, type SeriesBucket } from './recompute.js';
import { type Progress, type Series, type SeriesNames, seriesKey } from './series-names.js';
import { Signal } from './signal.js';
import type { Sql } from './sql.js';
import { StaleWindows } from './stale-windows.js';
import { partitionMs, type Partitioning, type Tables } from './tables.js';

const rowsPerBody = 20_000;
const mostPartitions = 50;
/** Beyond so many stale windows the next ones wait for a checkpoint. */
const mostStale = 200_000;
/** Windows of a series that are over and have not been sent, beside so many of all. */
const mostClosed = 3;
/** While a checkpoint waits for something, rows of live windows go on in this rhythm. */
const liveRowsMs = 30_000;

export interface RollupParts {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly names: SeriesNames;
  readonly partitioning: Partitioning;
}

/** What is known of one level's windows. */
interface State {
  readonly level: Level;
  readonly table: Buffer;
  readonly open: OpenWindows;
  readonly known: KnownRows;
  stale: StaleWindows;
  /** Those that the checkpoint under way makes anew. */
  settling: StaleWindows;
}

/**
 * The rollup rows that points of one lease change. A window is folded here while its points come in order and nothing of it was there
 * before; any other is stale, and made anew from what is stored. At the end of a checkpoint every window that was touched before it has
 * the row that its points give: so what begins anew after a crash and finds no row has all points of the window still to come.
 */
export class Rollups {
  readonly #states: readonly State[];
  readonly #recompute: Recompute;
  readonly #delivery: Delivery;
  readonly #changed = new Signal();
  readonly #names: SeriesNames;
  readonly #tables: Tables;
  readonly #partitionMs: ReturnType<typeof partitionMs>;

  constructor(
    private readonly way: Way,
    { sql, tables, names, partitioning }: RollupParts,
    lease: Lease,
  ) {
    this.#names = names;
    this.#tables = tables;
    this.#partitionMs = partitionMs(partitioning);
    this.#recompute = new Recompute(sql, tables, names, this.#partitionMs);
    this.#delivery = new Delivery(way, lease, this.#changed);
    this.#states = levels.map((level): State => {
      const known = new KnownRows(sql, tables, level);
      const mayHaveRow = (series: number, startMs: number): boolean =>
        state.stale.has(series, startMs) || state.settling.has(series, startMs) || known.mayHave(startMs, keyOf(names.all[series]!));
      const open = new OpenWindows(level.sizeMs, mayHaveRow, (series, startMs) => state.stale.add(series, startMs));
      const table = Buffer.from(tables[level.table]);
      const state: State = { level, table, open, known, stale: new StaleWindows(), settling: new StaleWindows() };
      return state;
    });
  }

  /** Whether so much waits for a checkpoint that one is due. */
  get full(): boolean {
    const most = mostStale + mostClosed * this.#names.all.length;
    return this.#states.some(({ stale, open }) => stale.size >= mostStale || open.closed.length >= most);
  }

  /** To be awaited before points of this time are added as live ones. */
  async know(fromMs: number, toMs: number): Promise<void> {
    for (const { level, known } of this.#states) {
      const { sizeMs } = level;
      for (let startMs = bucketStartMs(fromMs, sizeMs); startMs <= toMs; startMs += sizeMs) await known.load(startMs);
    }
  }

  /**
   * @param progress of the points of which this one may be one once more: a newer one than all of these is none of them.
   * @param live whether the time is near its receive time.
   */
  add({ id }: Series, progress: Progress, timestampMs: number, value: number, live: boolean): void {
    if (id >= this.#states[0]!.open.length) for (const { open } of this.#states) open.reserve(2 * (id + 1));
    if (live && timestampMs > progress.markMs) {
      progress.markMs = timestampMs;
      for (const { open } of this.#states) open.fold(id, timestampMs, value);
    } else for (const { open } of this.#states) open.spoil(id, timestampMs);
  }

  /**
   * Resolves when every window that was touched before the call has a row that readers see. Rejects `store_unavailable`; what was not
   * done is then still to be done.
   *
   * @param pointsVisible resolves when the points of these windows are visible.
   */
  async settle(pointsVisible: () => Promise<void>): Promise<void> {
    this.#begin();
    try {
      await this.#meanwhile(pointsVisible());
      await this.#sendOpen();
      await this.#delivery.visible(this.#giveUp);
      for (const state of this.#states) await this.#meanwhile(this.#remake(state));
      this.#delivery.check();
      this.#done();
    } catch (cause) {
      for (const state of this.#states) {
        state.stale.addAll(state.settling);
        state.settling = new StaleWindows();
      }
      throw cause;
    }
  }

  end(): void {
    this.#delivery.end();
  }

  readonly #giveUp = (): void => this.way.outage.check();

  #begin(): void {
    for (const state of this.#states) {
      for (const { series, bucket } of state.open.changed()) if (large(bucket)) state.open.spoil(series, bucket.startMs);
      state.settling = state.stale;
      state.stale = new StaleWindows();
    }
  }

  #done(): void {
    for (const state of this.#states) {
      for (const [series, starts] of state.settling.bySeries()) {
        const key = keyOf(this.#names.all[series]!);
        for (const startMs of starts) if (state.open.mayBegin(series, startMs)) state.known.add(startMs, key);
      }
      state.settling = new StaleWindows();
    }
  }

  /** Sends rows of live windows now and then until the work is done, however long that takes. */
  async #meanwhile(work: Promise<void>): Promise<void> {
    const done = work.then(() => true);
    const over = done.catch(() => undefined).then(() => this.#changed.ring());
    try {
      while (!(await Promise.race([done, this.#changed.wait(liveRowsMs).then(() => false)]))) await this.#sendOpen();
    } finally {
      // Also when the rows fail first.
      await over;
    }
  }

  /** Sends the rows of all windows that are folded here and have changed. */
  async #sendOpen(): Promise<void> {
    for (const state of this.#states) {
      for (let from = 0; from < state.open.length; from += rowsPerBody) {
        await this.#sendSome(state, this.#takeOpen(state, from));
        await setImmediate();
      }
      while (state.open.closed.length > 0) await this.#sendSome(state, this.#takeClosed(state));
    }
  }

  #takeOpen({ open }: State, from: number): SeriesBucket[] {
    const rows: SeriesBucket[] = [];
    for (let series = from; series < Math.min(from + rowsPerBody, open.length); series++) {
      const bucket = open.takeChanged(series);
      if (bucket) rows.push({ series: this.#names.all[series]!, bucket });
    }
    return rows;
  }

  #takeClosed({ open }: State): SeriesBucket[] {
    return open.closed.splice(0, rowsPerBody).map(({ series, bucket }) => ({ series: this.#names.all[series]!, bucket }));
  }

  async #sendSome(state: State, rows: readonly SeriesBucket[]): Promise<void> {
    const mine = rows.filter(({ series, bucket }) => !state.settling.has(series.id, bucket.startMs));
    for (const { series, bucket } of mine) if (large(bucket)) state.open.spoil(series.id, bucket.startMs);
    try {
      await this.#send(state, mine);
    } catch (cause) {
      for (const { series, bucket } of mine) state.open.spoil(series.id, bucket.startMs);
      throw cause;
    }
  }

  /**
   * Makes the stale windows of a level anew; its rows are visible afterwards. Rejects `store_unavailable` when there are windows for which
   * the store answers nothing: each has a point that was sent under this lease, so that the answer is wrong.
   */
  async #remake(state: State): Promise<void> {
    const missing = await this.#remakeThose(state, state.settling);
    if (missing.size === 0) return;
    // A lookup of a name may fail while the table takes in what it has accepted: see `Lookups`.
    await this.#delivery.untilItWorks(() => this.#delivery.shows([this.#tables[state.level.from]]), this.#giveUp);
    const left = await this.#remakeThose(state, missing);
    if (left.size > 0) this.#refuse(state, left);
  }

  /** Resolves with those for which the store answered nothing. */
  async #remakeThose(state: State, windows: StaleWindows): Promise<StaleWindows> {
    let waiting: SeriesBucket[] = [];
    const made = new StaleWindows();
    for await (const rows of this.#recompute.rows(state.level, windows)) {
      for (const { series, bucket } of rows) made.add(series.id, bucket.startMs);
      waiting = waiting.concat(rows);
      if (waiting.length < rowsPerBody) continue;
      await this.#sendInParts(state, waiting);
      waiting = [];
    }
    await this.#sendInParts(state, waiting);
    return made.size < windows.size ? windows.without(made) : new StaleWindows();
  }

  #refuse({ level }: State, windows: StaleWindows): never {
    this.way.figures.unanswered += windows.size;
    const [[series, starts]] = [...windows.bySeries()] as [[number, ReadonlySet<number>]];
    const { org, source, metric } = this.#names.all[series]!;
    const first = `${metric} of ${source} of ${org} at ${new Date(Math.min(...starts)).toISOString()}`;
    const why = `QuestDB answers nothing for ${windows.size} buckets of ${level.interval} that have points, as for ${first}: they are asked for again.`;
    throw new TelemetryError('store_unavailable', why, { retryAfterS: 1 });
  }

  /** A commit touches a bounded number of partitions. */
  async #sendInParts(state: State, rows: readonly SeriesBucket[]): Promise<void> {
    for (const some of byPartitions(rows, this.#partitionMs[state.level.table])) {
      await this.#send(state, some);
      await this.#delivery.visible(this.#giveUp);
    }
  }

  async #send({ table }: State, rows: readonly SeriesBucket[]): Promise<void> {
    if (rows.length === 0) return;
    const lines = new Lines(rows.length * 160);
    for (const { series, bucket } of rows) lines.bucket(table, series.symbols, { ...bucket, sum: clampedSum(bucket.sum) || 0 });
    try {
      await this.#delivery.send(lines.bytes, this.#giveUp);
    } catch (cause) {
      // No record is to blame for a row that was folded here: the next checkpoint tries again, and the operator is told.
      if (cause instanceof Refused) this.way.outage.began(cause);
      throw cause;
    }
    this.way.figures.rows.rollups += rows.length;
  }
}

const keyOf = ({ org, source, metric }: Series): string => seriesKey(org, source, metric);
const large = ({ min, max, count }: Bucket): boolean => mayOverflow(min, max, count);

/** Rows of a bounded number of partitions each. */
function* byPartitions(rows: readonly SeriesBucket[], sizeMs: number): Generator<SeriesBucket[]> {
  const partitions = Map.groupBy(rows, ({ bucket }) => bucketStartMs(bucket.startMs, sizeMs));
  const all = [...partitions.values()];
  for (let from = 0; from < all.length; from += mostPartitions) yield all.slice(from, from + mostPartitions).flat();
}
