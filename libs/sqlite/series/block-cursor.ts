import { Block, damaged, isBefore } from './block.js';
import type { BlockSearch, Extent } from './run.js';

/** Walks the entries of one kind of a run in order. It keeps its block, so that a move within the block needs no look-up. */
export class BlockCursor {
  #block: Block | undefined;

  constructor(
    private readonly search: BlockSearch,
    private readonly run: number,
    private readonly kind: number,
    private readonly extent: Extent,
  ) {}

  /** The current entry. */
  get entry(): Block {
    return this.#block!;
  }

  /**
   * Goes to the first entry that ends at or after a place; false when that entry has another key, or there is none.
   * @throws TelemetryError `store_corrupt` when the block is damaged or is not where it must be.
   */
  seek(key: number, timeMs: number): boolean {
    const block = this.#load(key, timeMs);
    if (!block || block.first.key > key) return false;
    block.moveTo(key, timeMs);
    return block.key === key;
  }

  /** True when all entries of a key that reach into [fromMs, toMs) are in one block, or there are none. */
  holds(key: number, fromMs: number, toMs: number): boolean {
    const block = this.#load(key, fromMs);
    return !block || !isBefore(block.last, key, toMs);
  }

  /** Goes to the first entry of the run; false when it has none. */
  first(): boolean {
    const block = this.#load(0, 0);
    block?.rewind();
    return block?.next() ?? false;
  }

  /** Goes to the next entry; false at the end of the run. */
  next(): boolean {
    if (this.entry.next()) return true;
    const { last, number } = this.entry;
    if (number + 1 === this.extent.blocks) return false;
    const row = this.search(this.run, this.kind, this.extent, last.key, last.timeMs, number + 1)!;
    if (row.number !== number + 1) throw damaged(row);
    this.#block = new Block(row);
    return this.#block.next();
  }

  /** The block that holds a place, or the first one after it. */
  #load(key: number, timeMs: number): Block | undefined {
    const held = this.#block;
    if (held && isBefore(held.before, key, timeMs) && !isBefore(held.last, key, timeMs)) return held;
    const row = this.search(this.run, this.kind, this.extent, key, timeMs);
    if (!row) return undefined;
    const block = new Block(row);
    if (!isBefore(block.before, key, timeMs) || isBefore(block.last, key, timeMs)) throw damaged(row);
    this.#block = block;
    return block;
  }
}
