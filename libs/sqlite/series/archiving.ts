import type { DatabaseSync } from 'node:sqlite';
import { RollupRows } from '#model';
import { unsynced } from '../transaction.js';
import type { Archive, ArchiveLevel, ArchiveSegment } from './archive.js';
import { BlockWriter } from './block.js';
import { type Reads } from './reads.js';
import { writeRows } from './rows.js';
import { blockInsert, rowsKey } from './run.js';
import { positionsBySmallValue } from './sorted-positions.js';

/** Rows held before they are sorted and written. */
const segmentRows = 64 * 1024;

/** Writes what reads answer for the buckets of one level in [fromMs, toMs), of all series, as an archive; a slice at a time. */
export class Archiving {
  readonly #segments: ArchiveSegment[] = [];
  readonly #held = new HeldRows();
  readonly #work: Iterator<undefined>;

  /** @param metrics of the series in `reads`, which are those from 1 on. */
  constructor(
    private readonly db: DatabaseSync,
    private readonly reads: Reads,
    private readonly metrics: Uint32Array,
    private readonly head: Omit<Archive, 'segments'>,
    /** From when on a series is kept: its buckets before are left out. */
    private readonly fromOf: (series: number) => number,
  ) {
    this.#work = this.#copy();
  }

  get id(): number {
    return this.head.id;
  }

  /** Writes for about that long. Returns the archive once all its blocks are written; nobody reads it before it is in its table. */
  step(sliceMs: number): Archive | undefined {
    const untilMs = performance.now() + sliceMs;
    const isDone = unsynced(this.db, () => {
      let { done } = this.#work.next();
      while (!done && performance.now() < untilMs) ({ done } = this.#work.next());
      return done;
    });
    return isDone ? { ...this.head, segments: this.#segments } : undefined;
  }

  *#copy(): Generator<undefined> {
    for (let at = 0; at < this.metrics.length; at++) {
      // Of a series that has ended nothing is archived.
      if (this.metrics[at]! > 0) yield* this.#copySeries(at);
      yield;
    }
    this.#write();
  }

  *#copySeries(position: number): Generator<undefined> {
    const { level, fromMs, toMs: endMs } = this.head;
    for (let beginMs = Math.max(fromMs, this.fromOf(position + 1)); beginMs < endMs; yield) {
      const toMs = this.reads.endOfSlice(level, beginMs, endMs);
      const rows = this.reads.rows(position, level, beginMs, toMs);
      if (rows.length > 0) this.#hold(position, level, rows);
      beginMs = rows.length > 0 ? toMs : this.reads.nextBucket(position, level, toMs, endMs);
    }
  }

  #hold(position: number, level: ArchiveLevel, rows: RollupRows): void {
    if (this.#held.rows.length + rows.length > segmentRows) this.#write();
    this.#held.add(position + 1, rows, (startMs) => this.reads.scaledSum(position, level, startMs));
  }

  /** Writes what is held as a segment. */
  #write(): void {
    const { series, rows } = this.#held;
    if (series.length === 0) return;
    const blocks = new BlockWriter(this.id, this.#segments.length, blockInsert(this.db));
    for (const at of positionsBySmallValue(Uint32Array.from(series, (its) => this.metrics[its - 1]!))) {
      const key = rowsKey(this.metrics[series[at]! - 1]!, series[at]!);
      for (const [from, to, scaled] of this.#held.stretches(at)) writeRows(blocks, key, rows, from, to, scaled);
    }
    blocks.flush();
    const from = { key: series[0]!, timeMs: rows.startMs[0]! };
    const to = { key: series.at(-1)!, timeMs: rows.startMs[rows.length - 1]! };
    this.#segments.push({ from, to, rows: { blocks: blocks.blocks, last: blocks.last } });
    this.#held.clear();
  }
}

/** Rows of some series, which come in their order. */
class HeldRows {
  series: number[] = [];
  readonly rows = new RollupRows();
  #begins: number[] = [];
  /** Rows whose sums stand there times `downscale`. */
  readonly #scaled = new Set<number>();

  add(series: number, some: RollupRows, scaledSum: (startMs: number) => number): void {
    const { rows } = this;
    if (series !== this.series.at(-1)) {
      this.series.push(series);
      this.#begins.push(rows.length);
    }
    const begin = rows.length;
    rows.append(some);
    for (let at = begin; at < rows.length; at++) {
      if (Number.isFinite(rows.sum[at])) continue;
      rows.sum[at] = scaledSum(rows.startMs[at]!);
      this.#scaled.add(at);
    }
  }

  /** Where the rows of the series at a position begin and end, cut where scaled sums begin and end. */
  *stretches(position: number): Generator<readonly [from: number, to: number, scaled: boolean]> {
    const end = this.#begins[position + 1] ?? this.rows.length;
    for (let from = this.#begins[position]!, to = from; from < end; from = to) {
      const scaled = this.#scaled.has(from);
      while (to < end && this.#scaled.has(to) === scaled) to++;
      yield [from, to, scaled];
    }
  }

  clear(): void {
    this.series = [];
    this.#begins = [];
    this.#scaled.clear();
    this.rows.clear();
  }
}
