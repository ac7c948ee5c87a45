import { intervalMs, type RollupRows } from '#model';
import { firstReaching } from './archive.js';
import { type Block, isBefore } from './block.js';
import { BlockCursor } from './block-cursor.js';
import type { PointStream } from './point-stream.js';
import { entryPoints, lowerBound, Points, readPoints } from './points.js';
import { type BlockSearch, type Level, levels, rawKind, type Run, rowsKey, rowsKind, type Segment } from './run.js';
import { StoredRows } from './stored-rows.js';

/** Reads one run. One stream of points of it may be open at a time. */
export class RunReader {
  readonly #raw: BlockCursor;
  readonly #entry = new LoadedEntry();
  readonly #rows: StoredRows;

  constructor(
    search: BlockSearch,
    readonly run: Run,
  ) {
    this.#raw = new BlockCursor(search, run.id, rawKind, run.raw);
    this.#rows = new StoredRows(search, run.id, levels.length);
  }

  /** The points of a series with times in [fromMs, toMs). */
  points(series: number, fromMs: number, toMs: number): PointStream {
    return new RunPoints(this.#raw, this.#entry, series, Math.max(fromMs, this.run.firstMs), Math.min(toMs, this.run.lastMs + 1));
  }

  /**
   * Appends the rows of a series whose buckets start in [fromMs, toMs), both at edges of buckets of the level. Points that lie in one block
   * are folded instead of reading their rows: they are as quick to find, and the points of the source's other metrics are next to them.
   * @param fleet true when the same metric of other sources is read too: its rows lie together.
   */
  rows(metric: number, series: number, level: Level, fromMs: number, toMs: number, fleet: boolean, into: RollupRows): void {
    if (this.run.lastMs < fromMs || this.run.firstMs >= toMs) return;
    into.begin();
    const { segments } = this.run;
    const fromPoints = !fleet && this.#raw.holds(series, fromMs, toMs);
    for (let at = firstReaching(segments, series, fromMs); at < segments.length; at++) {
      const segment = segments[at]!;
      if (!isBefore(segment.from, series, toMs)) return;
      const stored = segment.rows[level] ? level : '1m';
      const extent = segment.rows[stored];
      if (extent && !fromPoints)
        this.#rows.read(rowsKind(at, stored), extent, rowsKey(metric, series), intervalMs[level], fromMs, toMs, into);
      else this.#folded(segment, series, level, fromMs, toMs, into);
    }
  }

  #folded(segment: Segment, series: number, level: Level, fromMs: number, toMs: number, into: RollupRows): void {
    const begin = segment.from.key === series ? Math.max(fromMs, segment.from.timeMs) : fromMs;
    const end = segment.to.key === series ? Math.min(toMs, segment.to.timeMs + intervalMs['1m']) : toMs;
    const stream = this.points(series, begin, end);
    while (stream.next()) into.fold(intervalMs[level], stream.points.timeMs, stream.points.value, stream.at, stream.end);
  }
}

/** The points of the entry that was read last. Neighbouring buckets that are folded again are mostly in one entry, which is then read once. */
class LoadedEntry {
  readonly points = new Points(entryPoints);
  #bytes: Uint8Array | undefined;
  #columnsAt = 0;

  load(block: Block): void {
    if (block.bytes === this.#bytes && block.columnsAt === this.#columnsAt) return;
    this.#bytes = undefined;
    readPoints(block, this.points);
    this.#bytes = block.bytes;
    this.#columnsAt = block.columnsAt;
  }
}

class RunPoints implements PointStream {
  readonly points: Points;
  at = 0;
  end = 0;
  #begun = false;

  constructor(
    private readonly cursor: BlockCursor,
    private readonly loaded: LoadedEntry,
    private readonly series: number,
    private readonly fromMs: number,
    private readonly toMs: number,
  ) {
    this.points = loaded.points;
  }

  next(): boolean {
    if (!this.#goOn()) return false;
    const { entry: block } = this.cursor;
    if (block.key !== this.series || block.firstMs >= this.toMs) return false;
    this.loaded.load(block);
    this.at = block.firstMs >= this.fromMs ? 0 : lowerBound(this.points.timeMs, this.fromMs, 0, this.points.length);
    this.end = block.lastMs < this.toMs ? this.points.length : lowerBound(this.points.timeMs, this.toMs, this.at, this.points.length);
    return this.at < this.end || this.next();
  }

  #goOn(): boolean {
    if (this.#begun) return this.cursor.next();
    this.#begun = true;
    return this.fromMs < this.toMs && this.cursor.seek(this.series, this.fromMs);
  }
}
