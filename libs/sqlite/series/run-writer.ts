import { type BlockRow, BlockWriter } from './block.js';
import { entryPoints, Points, writePoints } from './points.js';
import { rawKind, type Run } from './run.js';
import { SegmentWriter } from './segment-writer.js';
import { inOrder, TagSets, untagged } from './tag-sets.js';

/** Writes the blocks of one run from its points, which come in the order of series, time and tags. */
export class RunWriter {
  points = 0;
  #firstMs = Infinity;
  #lastMs = -Infinity;
  readonly #raw: BlockWriter;
  readonly #segments: SegmentWriter;
  #series = -1;
  readonly #pending = new PendingPoints();

  constructor(
    private readonly id: number,
    metricOf: (series: number) => number,
    insert: (row: BlockRow) => void,
    segmentRows?: number,
  ) {
    this.#raw = new BlockWriter(id, rawKind, insert);
    this.#segments = new SegmentWriter(id, metricOf, insert, segmentRows);
  }

  add(series: number, points: Points, from: number, to: number): void {
    if (series !== this.#series) this.#flush();
    this.#series = series;
    this.#segments.add(series, points, from, to);
    for (let at = from; at < to;) {
      at = this.#pending.append(points, at, to);
      if (this.#pending.full) this.#flush();
    }
  }

  /** Writes what is left, and returns what the points say of the run. */
  finish(): Pick<Run, 'id' | 'points' | 'firstMs' | 'lastMs' | 'raw' | 'segments'> {
    this.#flush();
    this.#raw.flush();
    const raw = { blocks: this.#raw.blocks, last: this.#raw.last };
    const segments = this.#segments.finish();
    // JSON has no infinities.
    const [firstMs, lastMs] = this.points > 0 ? [this.#firstMs, this.#lastMs] : [0, -1];
    return { id: this.id, points: this.points, firstMs, lastMs, raw, segments };
  }

  #flush(): void {
    if (this.#pending.length === 0) return;
    const pending = this.#pending.take();
    this.points += pending.length;
    this.#firstMs = Math.min(this.#firstMs, pending.timeMs[0]!);
    this.#lastMs = Math.max(this.#lastMs, pending.timeMs[pending.length - 1]!);
    writePoints(this.#raw, this.#series, pending, 0, pending.length);
    this.#pending.clear();
  }
}

/** An entry is also full once its tag sets have so many characters: 2,048 points may have as many tag sets, of kilobytes each. */
const fullTagLength = 32 * 1024;

/** Points of one series that gather until they fill an entry. Their tag sets are numbered anew, as each stream that they come from has its own numbers. */
class PendingPoints {
  readonly #points = new Points(entryPoints);
  readonly #tagSets = new TagSets();
  #tagLength = 0;

  get length(): number {
    return this.#points.length;
  }

  get full(): boolean {
    return this.#points.length === entryPoints || this.#tagLength >= fullTagLength;
  }

  /** Takes points [begin, end) until it is full, and returns where it stopped. */
  append(from: Points, begin: number, end: number): number {
    const into = this.#points;
    const last = Math.min(end, begin + entryPoints - into.length);
    if (from.tagSets === untagged) {
      for (let at = begin, to = into.length; at < last; at++, to++) {
        into.timeMs[to] = from.timeMs[at]!;
        into.value[to] = from.value[at]!;
        into.tag[to] = 0;
      }
      into.length += last - begin;
      return last;
    }
    let at = begin;
    for (; at < last && !this.full; at++) {
      const to = into.length++;
      into.timeMs[to] = from.timeMs[at]!;
      into.value[to] = from.value[at]!;
      into.tag[to] = from.tag[at] === 0 ? 0 : this.#number(from.tagSets[from.tag[at]!]!);
    }
    return at;
  }

  /** The points, with their tag sets in order. The next `append` reuses their memory. */
  take(): Points {
    const points = this.#points;
    const { tagSets, places } = inOrder(this.#tagSets.texts);
    points.tagSets = tagSets;
    if (tagSets !== untagged) for (let at = 0; at < points.length; at++) points.tag[at] = places[points.tag[at]!]!;
    return points;
  }

  clear(): void {
    this.#points.length = 0;
    this.#tagSets.clear();
    this.#tagLength = 0;
  }

  #number(tags: string): number {
    const known = this.#tagSets.texts.length;
    const number = this.#tagSets.number(tags);
    if (number === known) this.#tagLength += tags.length;
    return number;
  }
}
