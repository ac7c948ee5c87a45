import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { bucketStartMs, type PointColumns } from '#model';
import { KnownRows } from './known-rows.js';
import { OpenWindows } from './open-windows.js';
import { mayOverflow, type RollupDatabase, type RollupLevel, type SeriesBucket } from './rollup-database.js';
import { WindowSet } from './window-set.js';

const maxRowsSent = 20_000;
/** Beyond so many stale windows the next ones wait for a checkpoint. */
const maxStale = 200_000;
/** Windows of each series that are over and not sent yet, in addition to `maxStale`. */
const maxClosed = 3;
/** While a checkpoint waits for something, rows of live windows are sent in this rhythm. */
const liveRowsMs = 30_000;

/** How far the points of a series with certain tags have come. */
export interface Mark {
  /** Time of the newest point that was folded; -Infinity before there is one. */
  markMs: number;
}

/** What is known of one level's windows. */
interface State {
  readonly level: RollupLevel;
  readonly open: OpenWindows;
  readonly known: KnownRows;
  stale: WindowSet;
  /** The stale windows that the checkpoint under way makes again. */
  settling: WindowSet;
}

/**
 * The rollup rows that points of one lease change. A window is folded in memory while its points come in order and no row of it was stored
 * before; any other window is stale, and its row is made again from what is stored. At the end of a checkpoint every window that was touched
 * before it has the row that its points give. So after a crash a window without a row has all of its points still to come.
 */
export class Rollups {
  readonly #states: readonly State[];

  constructor(private readonly database: RollupDatabase) {
    this.#states = database.levels.map((level): State => {
      const known = new KnownRows(level);
      const mayHaveRow = (series: number, startMs: number): boolean =>
        state.stale.has(series, startMs) || state.settling.has(series, startMs) || known.mayHave(startMs, database.sourceOf(series));
      const open = new OpenWindows(level.sizeMs, mayHaveRow, (series, startMs) => state.stale.add(series, startMs));
      const state: State = { level, open, known, stale: new WindowSet(), settling: new WindowSet() };
      return state;
    });
  }

  /** Whether so much waits for a checkpoint that one is due. */
  get full(): boolean {
    const maxWaiting = maxStale + maxClosed * this.database.seriesCount;
    return this.#states.some(({ stale, open }) => stale.size >= maxStale || open.closed.length >= maxWaiting);
  }

  /** Memory for what is known of stored rows. */
  get knownBytes(): number {
    return this.#states.reduce((bytes, { known }) => bytes + known.bytes, 0);
  }

  /** Await this before adding live points of these times. */
  async know(fromMs: number, toMs: number): Promise<void> {
    for (const { level, known } of this.#states) {
      const { sizeMs } = level;
      for (let startMs = bucketStartMs(fromMs, sizeMs); startMs <= toMs; startMs += sizeMs) await known.load(startMs);
    }
  }

  /**
   * Adds points of one series, from one place in their columns to before another.
   * @param mark of all points that may be the same as one of these: a point beyond their mark is new.
   * @param live whether the times are near the receive time of the points.
   */
  add(series: number, mark: Mark, points: PointColumns, from: number, to: number, live: boolean): void {
    if (series >= this.#states[0]!.open.length) for (const { open } of this.#states) open.reserve(2 * (series + 1));
    const { timestampMs } = points;
    for (let at = from; at < to; at++) {
      const begin = at;
      if (live) at = ascendingEnd(timestampMs, begin, to, mark.markMs);
      if (at > begin) {
        mark.markMs = timestampMs[at - 1]!;
        for (const { open } of this.#states) open.fold(series, points, begin, at);
      }
      if (at < to) for (const { open } of this.#states) open.spoil(series, timestampMs[at]!);
    }
  }

  /**
   * Resolves when every window that was touched before the call has a row that readers see. Rejects `store_unavailable`; what was not
   * done is then left for the next call.
   *
   * @param pointsVisible resolves when readers see the points that were added before the call.
   */
  async settle(pointsVisible: () => Promise<void>): Promise<void> {
    this.#begin();
    try {
      await this.#meanwhile(pointsVisible());
      await this.#sendOpen();
      await this.database.visible();
      for (const state of this.#states) await this.#meanwhile(this.#remake(state));
      this.database.check();
      this.#done();
    } catch (cause) {
      for (const state of this.#states) {
        state.stale.addAll(state.settling);
        state.settling = new WindowSet();
      }
      throw cause;
    }
  }

  #begin(): void {
    for (const state of this.#states) {
      for (const { series, bucket } of state.open.changed()) if (mayOverflow(bucket)) state.open.spoil(series, bucket.startMs);
      state.settling = state.stale;
      state.stale = new WindowSet();
    }
  }

  #done(): void {
    for (const state of this.#states) {
      for (const [series, starts] of state.settling.bySeries()) {
        const source = this.database.sourceOf(series);
        for (const startMs of starts) if (state.open.mayBegin(series, startMs)) state.known.add(startMs, source);
      }
      state.settling = new WindowSet();
    }
  }

  /** Sends rows of live windows now and then until the work is done, however long that takes. */
  async #meanwhile(work: Promise<void>): Promise<void> {
    const over = new AbortController();
    const done = work.then(() => true);
    const ended = done.catch(() => undefined).then(() => over.abort());
    const tick = (): Promise<boolean> => pause(liveRowsMs, false, { signal: over.signal }).catch(() => false);
    try {
      while (!(await Promise.race([done, tick()]))) await this.#sendOpen();
    } finally {
      // Also when sending rows fails before the work is done.
      await ended;
    }
  }

  /** Sends the rows of all windows that are folded in memory and have changed. */
  async #sendOpen(): Promise<void> {
    for (const state of this.#states) {
      for (let from = 0; from < state.open.length; from += maxRowsSent) {
        await this.#sendSome(state, takeOpen(state.open, from));
        await setImmediate();
      }
      while (state.open.closed.length > 0) await this.#sendSome(state, state.open.closed.splice(0, maxRowsSent));
    }
  }

  /** A window that the checkpoint makes again is left out: its row in memory lacks points. */
  async #sendSome({ level, open, settling }: State, rows: readonly SeriesBucket[]): Promise<void> {
    const folded = rows.filter(({ series, bucket }) => !settling.has(series, bucket.startMs));
    for (const { series, bucket } of folded) if (mayOverflow(bucket)) open.spoil(series, bucket.startMs);
    if (folded.length === 0) return;
    try {
      await level.send(folded);
    } catch (cause) {
      for (const { series, bucket } of folded) open.spoil(series, bucket.startMs);
      throw cause;
    }
  }

  /**
   * Makes the rows of a level's stale windows again; readers see them afterwards. Rejects when the database answers nothing for some of
   * them: each has a point that was sent under this lease, so that such an answer is wrong, unless points of that time are not kept any more.
   */
  async #remake({ level, settling }: State): Promise<void> {
    const missing = (await remade(level, settling)).since(this.database.keptFromMs);
    if (missing.size === 0) return;
    // A database may overlook a point while it takes in what it has accepted.
    await level.sourceVisible();
    const left = (await remade(level, missing)).since(this.database.keptFromMs);
    if (left.size > 0) throw level.unanswered(left);
  }
}

/** The place up to which times, from `from` on, ascend and lie beyond a mark. */
function ascendingEnd(timestampMs: Float64Array, from: number, to: number, markMs: number): number {
  let end = from;
  for (let lastMs = markMs; end < to && timestampMs[end]! > lastMs; end++) lastMs = timestampMs[end]!;
  return end;
}

function takeOpen(open: OpenWindows, from: number): SeriesBucket[] {
  const rows: SeriesBucket[] = [];
  for (let series = from; series < Math.min(from + maxRowsSent, open.length); series++) {
    const bucket = open.takeChanged(series);
    if (bucket) rows.push({ series, bucket });
  }
  return rows;
}

/** Resolves with the windows for which the database answered nothing; readers see the rows of the others. */
async function remade(level: RollupLevel, windows: WindowSet): Promise<WindowSet> {
  let waiting: SeriesBucket[] = [];
  const made = new WindowSet();
  for await (const rows of level.fold(windows)) {
    for (const { series, bucket } of rows) made.add(series, bucket.startMs);
    waiting = waiting.concat(rows);
    if (waiting.length < maxRowsSent) continue;
    await level.sendAnywhere(waiting);
    waiting = [];
  }
  await level.sendAnywhere(waiting);
  return made.size < windows.size ? windows.without(made) : new WindowSet();
}
