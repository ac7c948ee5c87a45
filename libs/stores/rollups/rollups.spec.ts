import { describe, expect, it } from '@jest/globals';
import { bucketStartMs, TelemetryError } from '#model';
import { columnsOf, Random } from '#testing';
import type { Bucket, RollupDatabase, RollupLevel, SeriesBucket } from './rollup-database.js';
import { type Mark, Rollups } from './rollups.js';
import type { WindowSet } from './window-set.js';

const sizesMs = [60_000, 3_600_000];
type Point = readonly [series: string, timestampMs: number, value: number, isLate?: boolean];
/** Of two sources, and of two metrics each. */
const sourceOf = (series: string): string => series[0]!;
const rowKey = (series: string, startMs: number): string => `${series} ${startMs}`;

/** What a database keeps whatever becomes of its writers. */
class Kept {
  readonly points = new Map<string, Point>();
  readonly rows = sizesMs.map(() => new Map<string, Bucket>());
  /** Points before this time go; nobody tells the writers. */
  fromMs = 0;
  #goneMs = 0;

  /** Moves that time, or drops what is before it: always one after the other. */
  forget(fromMs: number): void {
    if (this.#goneMs === this.fromMs) this.fromMs = Math.max(this.fromMs, fromMs);
    else this.#goneMs = this.fromMs;
    for (const [key, [, timestampMs]] of this.points) if (timestampMs < this.#goneMs) this.points.delete(key);
  }
}

/** One writer of a database: it is cut off after some steps, and the folds of some windows answer nothing. */
class Writer implements RollupDatabase {
  keptFromMs = 0;
  readonly levels: readonly RollupLevel[] = sizesMs.map((sizeMs, at) => this.#level(sizeMs, at));
  readonly #names: string[] = [];
  readonly #marks: Mark[] = [];
  #sent: Point[] = [];
  #accepted: (() => void)[] = [];

  constructor(
    private readonly kept: Kept,
    private left: { overlooked: number; steps: number },
    private readonly between: () => void = () => undefined,
  ) {}

  get seriesCount(): number {
    return this.#names.length;
  }

  sourceOf(series: number): string {
    return sourceOf(this.#names[series]!);
  }

  check(): void {
    if (this.left.steps <= 0) throw new TelemetryError('store_unavailable', 'cut off');
  }

  /** @param from the first of the points that it takes, which are of one series and alike in being late. */
  take(rollups: Rollups, points: readonly Point[], from: number, to: number, live: boolean): void {
    const [name, , , isLate = false] = points[from]!;
    if (!this.#names.includes(name)) this.#marks[this.#names.push(name) - 1] = { markMs: -Infinity };
    const series = this.#names.indexOf(name);
    for (const [, timestampMs, value] of points.slice(from, to)) this.#sent.push([name, timestampMs, value]);
    const all = columnsOf(...points.map(([, timestampMs, value]) => [timestampMs, value] as const));
    rollups.add(series, this.#marks[series]!, all, from, to, live && !isLate);
  }

  async flush(): Promise<void> {
    const points = this.#sent;
    this.#sent = [];
    await this.#step();
    for (const point of points) this.kept.points.set(`${point[0]} ${point[1]}`, point);
  }

  async visible(): Promise<void> {
    await this.#step();
    this.showAccepted();
  }

  showAccepted(): void {
    for (const show of this.#accepted.splice(0)) show();
  }

  async #step(): Promise<void> {
    this.left.steps--;
    await Promise.resolve();
    this.between();
    this.check();
  }

  #level(sizeMs: number, at: number): RollupLevel {
    const rows = (): Map<string, Bucket> => this.kept.rows[at]!;
    const send = async (buckets: readonly SeriesBucket[]): Promise<void> => {
      await this.#step();
      this.#accepted.push(() => {
        for (const { series, bucket } of buckets) rows().set(rowKey(this.#names[series]!, bucket.startMs), bucket);
      });
    };
    return {
      sizeMs,
      maxOpen: 8,
      send,
      sendAnywhere: async (buckets) => {
        this.keptFromMs = this.kept.fromMs;
        await send(buckets.filter(({ bucket: { startMs } }) => startMs >= this.keptFromMs));
        await this.visible();
      },
      sourceVisible: () => this.visible(),
      sourcesWithRow: async (startMs, take) => {
        await this.#step();
        for (const key of rows().keys()) if (key.endsWith(` ${startMs}`)) take(sourceOf(key));
      },
      fold: (windows) => this.#fold(sizeMs, at, windows),
      unanswered: (windows) => new TelemetryError('store_unavailable', `nothing for ${windows.size}`),
    };
  }

  async *#fold(sizeMs: number, at: number, windows: WindowSet): AsyncGenerator<SeriesBucket[]> {
    for (const [series, starts] of windows.bySeries()) {
      await this.#step();
      if (this.left.overlooked-- > 0) continue;
      const its = folded(this.kept, at, this.#names[series]!, sizeMs);
      yield its.filter(({ startMs }) => starts.has(startMs)).map((bucket) => ({ series, bucket }));
    }
  }
}

/** The buckets of a series from its points, or from the rows of the level before. */
function folded(kept: Kept, at: number, name: string, sizeMs: number): Bucket[] {
  const parts: Bucket[] =
    at === 0
      ? kept.points
          .values()
          .flatMap(([its, startMs, value]) => (its === name ? [{ startMs, min: value, max: value, sum: value, count: 1 }] : []))
          .toArray()
      : kept.rows[at - 1]!.entries()
          .flatMap(([key, bucket]) => (key.startsWith(`${name} `) ? [bucket] : []))
          .toArray();
  return [...Map.groupBy(parts, ({ startMs }) => bucketStartMs(startMs, sizeMs))].map(([startMs, those]) => ({
    startMs,
    min: Math.min(...those.map(({ min }) => min)),
    max: Math.max(...those.map(({ max }) => max)),
    sum: those.reduce((sum, one) => sum + one.sum, 0),
    count: those.reduce((sum, { count }) => sum + count, 0),
  }));
}

/** What a database should have after these points: the last of those of one series and time, and the buckets of all. */
function byBruteForce(points: readonly Point[]): Kept {
  const kept = new Kept();
  for (const point of points) kept.points.set(`${point[0]} ${point[1]}`, point);
  for (const [at, sizeMs] of sizesMs.entries()) {
    for (const name of new Set(points.map(([its]) => its)))
      for (const bucket of folded(kept, 0, name, sizeMs)) kept.rows[at]!.set(rowKey(name, bucket.startMs), bucket);
  }
  return kept;
}

/**
 * Writes points under one writer after the other, from the last checkpoint on, until a checkpoint has all of them.
 * @param between is called between any two steps, with how many points a checkpoint has.
 */
async function project(points: readonly Point[], random: Random, between = (_kept: Kept, _done: number): void => undefined): Promise<Kept> {
  const kept = new Kept();
  let settledPoints = 0;
  for (let [done, attempt] = [0, 1]; done < points.length; attempt++) {
    const left = { overlooked: 0, steps: attempt > 30 ? Infinity : random.whole(1, 60) };
    const writer = new Writer(kept, left, () => between(kept, settledPoints));
    const rollups = new Rollups(writer);
    /** Gives the writer some points of one series at once, and returns the place behind them. */
    const take = async (from: number): Promise<number> => {
      const [series, , , isLate] = points[from]!;
      let to = from + 1;
      while (to < points.length && points[to]![0] === series && points[to]![3] === isLate && random.chance(0.8)) to++;
      const times = points.slice(from, to).map(([, timestampMs]) => timestampMs);
      if (random.chance(0.9)) await rollups.know(Math.min(...times), Math.max(...times));
      writer.take(rollups, points, from, to, random.chance(0.9));
      return to;
    };
    try {
      for (let next = done; next < points.length;) {
        next = await take(next);
        if (random.chance(0.2)) await writer.flush();
        if (next < points.length && !random.chance(0.2)) continue;
        const settled = rollups.settle(() => writer.flush());
        const reached = next;
        // Points that come while a checkpoint is under way.
        while (next < points.length && random.chance(0.5)) writer.take(rollups, points, next, ++next, true);
        await settled;
        settledPoints = done = reached;
      }
    } catch (cause) {
      if (!(cause instanceof TelemetryError)) throw cause;
      if (random.chance(0.5)) writer.showAccepted();
    }
  }
  return kept;
}

describe('Exact rollups in a database that can fold', () => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

  it(`are what brute force gives, with the writer cut off between any two steps (SEED=${seed})`, async () => {
    for (let at = 0; at < 200; at++) {
      const random = new Random(seed + at);
      let nowMs = 1_700_000_000_000;
      let series = 'a1';
      const points = Array.from({ length: random.whole(1, 60) }, (): Point => {
        nowMs += random.pick([0, 1000, 20_000, 70_000]);
        const behindMs = random.chance(0.8) ? 0 : random.pick([1000, 70_000, 5_400_000]);
        if (random.chance(0.4)) series = random.pick(['a1', 'a2', 'b1', 'b2']);
        return [series, nowMs - behindMs, random.whole(-9, 9)];
      });
      expect(await project(points, random)).toEqual(byBruteForce(points));
    }
  });

  it(`are never made of what is left of their points (SEED=${seed})`, async () => {
    for (let at = 0; at < 60; at++) {
      const random = new Random(seed + at);
      let nowMs = 1_700_000_000_000;
      let series = 'a1';
      const points: Point[] = [];
      const receivedMs: number[] = [];
      for (let left = random.whole(20, 60); left > 0; left--) {
        // No two points have the same time: while points are read again, the older of two such points is for a moment the newer one.
        nowMs += 1 + random.pick([0, 1000, 70_000, 1_800_000]);
        const behindMs = random.pick([0, 0, 70_000, 5_400_000]);
        if (random.chance(0.4)) series = random.pick(['a1', 'a2', 'b1']);
        points.push([series, nowMs - behindMs, random.whole(-9, 9), behindMs > 70_000]);
        receivedMs.push(nowMs);
      }
      const moves: { readonly fromMs: number; readonly toMs: number; readonly done: number }[] = [];
      const kept = await project(points, random, (its, done) => {
        if (done === 0 || !random.chance(0.05)) return;
        const { fromMs } = its;
        its.forget(bucketStartMs(receivedMs[done - 1]! - 3_600_000, 3_600_000));
        if (its.fromMs > fromMs) moves.push({ fromMs, toMs: its.fromMs, done });
      });
      const whole = byBruteForce(points);
      const prefixes = points.map((_, end) => byBruteForce(points.slice(0, end + 1)));
      for (const [level, rows] of kept.rows.entries()) {
        const isKept = ([, { startMs }]: [string, Bucket]): boolean => startMs >= kept.fromMs;
        expect(new Map([...rows].filter(isKept))).toEqual(new Map([...whole.rows[level]!].filter(isKept)));
        for (const { fromMs, toMs, done } of moves) {
          const settled = [...prefixes[done - 1]!.rows[level]!].filter(([, { startMs }]) => startMs >= fromMs && startMs < toMs);
          expect(settled.filter(([key]) => !rows.has(key))).toEqual([]);
        }
        const wasWhole = new Set(prefixes.flatMap((prefix) => [...prefix.rows[level]!].map((row) => JSON.stringify(row))));
        expect([...rows].filter((row) => !wasWhole.has(JSON.stringify(row)))).toEqual([]);
      }
    }
  });

  it('are not done while the database answers nothing for a window that has a point', async () => {
    const kept = new Kept();
    const left = { overlooked: 2, steps: Infinity };
    const writer = new Writer(kept, left);
    const rollups = new Rollups(writer);
    writer.take(rollups, [['a1', 0, 1]], 0, 1, false);
    await expect(rollups.settle(() => writer.flush())).rejects.toThrow('nothing for 1');
    left.overlooked = 1;
    await rollups.settle(() => writer.flush());
    expect(kept).toEqual(byBruteForce([['a1', 0, 1]]));
  });
});
