import { RollupRows } from '#model';
import { BlockCursor } from './block-cursor.js';
import { lowerBound } from './points.js';
import { readRows } from './rows.js';
import type { BlockSearch, Extent } from './run.js';

/** The rows of the entry that is being read; its memory is kept from one entry to the next. */
const entry = new RollupRows();

/** Reads the rollup rows that a run or an archive has in blocks. */
export class StoredRows {
  /** Of the kinds that were read last. Each cursor keeps a block in memory, and a large run has thousands of kinds. */
  readonly #cursors = new Map<number, BlockCursor>();

  /** @param maxCursors how many kinds may keep a block in memory. */
  constructor(
    private readonly search: BlockSearch,
    private readonly run: number,
    private readonly maxCursors: number,
  ) {}

  /** Appends the rows of a key whose buckets start in [fromMs, toMs), folded to buckets of `sizeMs`. @param scale of their sums. */
  read(kind: number, extent: Extent, key: number, sizeMs: number, fromMs: number, toMs: number, into: RollupRows, scale = 1): void {
    const cursor = this.#cursor(kind, extent);
    for (let more = cursor.seek(key, fromMs); more && cursor.entry.key === key && cursor.entry.firstMs < toMs; more = cursor.next()) {
      entry.clear();
      readRows(cursor.entry, entry, scale);
      const from = lowerBound(entry.startMs, fromMs, 0, entry.length);
      const to = lowerBound(entry.startMs, toMs, from, entry.length);
      into.foldRows(sizeMs, entry, from, to);
    }
  }

  /** The start of the first row of a key in [fromMs, toMs); `toMs` when there is none. */
  next(kind: number, extent: Extent, key: number, fromMs: number, toMs: number): number {
    const cursor = this.#cursor(kind, extent);
    if (!cursor.seek(key, fromMs)) return toMs;
    if (cursor.entry.firstMs >= fromMs) return Math.min(cursor.entry.firstMs, toMs);
    entry.clear();
    readRows(cursor.entry, entry);
    return Math.min(entry.startMs[lowerBound(entry.startMs, fromMs, 0, entry.length)]!, toMs);
  }

  #cursor(kind: number, extent: Extent): BlockCursor {
    const known = this.#cursors.get(kind);
    if (known) return known;
    const [oldest] = this.#cursors.keys();
    if (oldest !== undefined && this.#cursors.size === this.maxCursors) this.#cursors.delete(oldest);
    const cursor = new BlockCursor(this.search, this.run, kind, extent);
    this.#cursors.set(kind, cursor);
    return cursor;
  }
}
