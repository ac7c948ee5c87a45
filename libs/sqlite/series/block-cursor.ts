import { Block, damaged, isBefore, type Place } from './block.js';
import type { BlockSearch, Extent } from './run.js';

/** Walks the entries of one kind of a run in order. Keeps its block, so that going on or staying near costs no look-up. */
export class BlockCursor {
  #block: Block | undefined;

  constructor(
    private readonly search: BlockSearch,
    private readonly run: number,
    private readonly kind: number,
    private readonly extent: Extent,
  ) {}

  /** The entry where it stands. */
  get entry(): Block {
    return this.#block!;
  }

  /**
   * Goes to the first entry that ends at or after a place, and is false when that is of another key or there is none.
   * @throws TelemetryError `store_corrupt` when the block is damaged or is not where it must be.
   */
  seek(key: number, timeMs: number): boolean {
    const place = { key, timeMs };
    const block = this.#load(place);
    if (!block || block.first.key > key) return false;
    block.moveTo(key, timeMs);
    return block.key === key;
  }

  /** Goes to the first entry of the run; false when it has none. */
  first(): boolean {
    const block = this.#load({ key: 0, timeMs: 0 });
    block?.rewind();
    return block?.next() ?? false;
  }

  /** Goes to the next entry; false at the end of the run. */
  next(): boolean {
    if (this.entry.next()) return true;
    const { last } = this.entry;
    return this.#load({ key: last.key, timeMs: last.timeMs + 1 }) !== undefined && this.entry.next();
  }

  #load(place: Place): Block | undefined {
    const held = this.#block;
    if (held && isBefore(held.before, place) && !isBefore(held.last, place)) return held;
    const row = this.search(this.run, this.kind, this.extent, place);
    if (!row) return undefined;
    const block = new Block(row);
    if (!isBefore(block.before, place) || isBefore(block.last, place)) throw damaged(row);
    this.#block = block;
    return block;
  }
}
