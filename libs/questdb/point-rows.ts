import type { Lease } from '#model';
import { Delivery, type Way } from './delivery.js';
import { dueAfter } from './flush-times.js';
import { type LatePart, LateRows } from './late-rows.js';
import { Refused } from './line-sink.js';
import { Lines } from './lines.js';
import type { NameRows, SeriesName } from './name-rows.js';
import { RefusedRow } from './refused-row.js';
import type { Series, TagSet } from './series-names.js';
import { Signal } from './signal.js';

/** Rows that are sent without waiting for their time. */
const fullRows = 50_000;
/** What may wait and be under way. */
const mostBytes = 64 << 20;
const lookMs = 500;
const firstBytes = 1 << 16;
const mostSpareBytes = 16 << 20;

interface Flush {
  readonly live: Lines;
  readonly late: readonly LatePart[];
}

/** Rows of points under one lease, on their way to the table. */
export class PointRows {
  readonly #late: LateRows;
  readonly #changed = new Signal();
  readonly #delivery: Delivery;
  readonly #table: Buffer;
  readonly #running: Promise<void>;
  #live = new Lines(firstBytes);
  /** The last body that was sent: its memory is for the next but one. */
  #spare: Lines | undefined;
  #lateBytes = 0;
  #underWay: Flush | undefined;
  #underWayBytes = 0;
  #draining = 0;
  #dueMs = { live: 0, late: 0 };
  /** Live rows taken in, and how many of them are visible. */
  #added = 0;
  #visible = 0;

  constructor(
    private readonly way: Way,
    private readonly names: NameRows,
    lease: Lease,
    partitionMs: number,
    /** Called when what is held can no longer be written though nobody has ended this: at a `RefusedRow`, or want of memory. */
    lost: (cause: unknown) => void,
  ) {
    this.#late = new LateRows(partitionMs);
    this.#table = Buffer.from(way.tables[0]!);
    this.#delivery = new Delivery(way, lease, this.#changed);
    this.#running = this.#run().catch((cause: unknown) => {
      if (this.#delivery.ended) return;
      this.#delivery.end(cause);
      lost(cause);
    });
  }

  /** What is held, bytes. */
  get bytes(): number {
    return this.#live.length + this.#lateBytes + this.#underWayBytes;
  }

  add({ org }: Series, { symbols, progress }: TagSet, value: number, timestampMs: number, isLate: boolean): void {
    const waits = progress.lateRound === this.#late.round;
    // Behind a late row that may be of the same key it is late too: the newer one comes last.
    if (!isLate && !(waits && timestampMs <= progress.lateThroughMs)) {
      this.#live.point(this.#table, symbols, value, timestampMs);
      this.#added++;
      return;
    }
    const lines = this.#late.lines(org, timestampMs);
    const before = lines.length;
    lines.point(this.#table, symbols, value, timestampMs);
    this.#lateBytes += lines.length - before;
    progress.lateThroughMs = waits ? Math.max(progress.lateThroughMs, timestampMs) : timestampMs;
    progress.lateRound = this.#late.round;
  }

  /** To be called after rows were added. */
  added(): void {
    if (this.#live.rows >= fullRows || this.bytes > mostBytes / 2) this.#changed.ring();
  }

  /** Resolves when more may be added. Rejects `store_unavailable` when that is not foreseeable. */
  async room(): Promise<void> {
    while (this.bytes >= mostBytes) await this.#look();
  }

  /** Resolves when readers see all that was added before. Rejects `store_unavailable` when that is not foreseeable. */
  async drained(): Promise<void> {
    const added = this.#added;
    const parts = this.#late.parts();
    for (const part of this.#underWay?.late ?? []) parts.add(part);
    this.#draining++;
    this.#changed.ring();
    try {
      while (this.#visible < added || this.#holdsAny(parts)) await this.#look();
    } finally {
      this.#draining--;
    }
  }

  /**
   * Sends rows and the names of their series by themselves, behind all that was added before, without adding them. Rejects `RefusedRow`, and `store_unavailable` when
   * an answer is not foreseeable.
   */
  async probe(lines: Lines, names: readonly SeriesName[]): Promise<void> {
    const giveUp = (): void => this.way.outage.check();
    await this.drained();
    await this.names.probe(names, this.#delivery, giveUp);
    await this.#send(lines, giveUp);
  }

  /** Drops what is held. Resolves when nothing is under way any more. */
  async end(): Promise<void> {
    this.#delivery.end();
    await this.#running;
  }

  async #look(): Promise<void> {
    this.#delivery.check();
    this.way.outage.check();
    await this.#changed.wait(lookMs);
  }

  #holdsAny(parts: Set<LatePart>): boolean {
    return (
      this.#late
        .parts()
        .values()
        .some((part) => parts.has(part)) || (this.#underWay?.late ?? []).some((part) => parts.has(part))
    );
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#delivery.check();
      const flush = this.#due(performance.now());
      if (flush) await this.#flush(flush);
      else await this.#changed.wait(lookMs);
      this.#changed.ring();
    }
  }

  /** Late rows are taken together with the live ones added before them, which are sent first. */
  #due(nowMs: number): Flush | undefined {
    const pressed = this.#draining > 0 || this.bytes > mostBytes / 2;
    const late = !this.#late.empty && (pressed || nowMs >= this.#dueMs.late);
    const live = this.#live.rows > 0 && (pressed || nowMs >= this.#dueMs.live || this.#live.rows >= fullRows);
    if (!late && !live) return undefined;
    const flush = { live: this.#live, late: late ? this.#late.take() : [] };
    this.#live = this.#spare ?? new Lines(firstBytes);
    this.#spare = undefined;
    return flush;
  }

  async #flush(flush: Flush): Promise<void> {
    const { live, late } = flush;
    const lines = new Lines(64);
    for (const part of late) lines.append(part.lines);
    this.#underWay = flush;
    this.#lateBytes -= lines.length;
    this.#underWayBytes = live.length + lines.length;
    const beganMs = performance.now();
    await this.names.write(this.#delivery);
    if (live.rows > 0) await this.#send(live);
    if (lines.rows > 0) await this.#send(lines);
    const sentMs = performance.now();
    await this.#delivery.visible();
    const applyMs = performance.now() - sentMs;
    this.#dueMs = dueAfter(this.#dueMs, { beganMs, applyMs, late: lines.rows > 0 });
    this.#count(live.rows, lines.rows, applyMs);
    this.#visible += live.rows;
    this.#underWay = undefined;
    if (live.length <= mostSpareBytes) this.#spare = cleared(live);
    this.#underWayBytes = 0;
  }

  async #send(lines: Lines, giveUp?: () => void): Promise<void> {
    try {
      await this.#delivery.send(lines.bytes, giveUp);
    } catch (cause) {
      throw cause instanceof Refused ? new RefusedRow(lines.symbolsOfPoint(this.#table, cause.row ?? 0), cause) : cause;
    }
  }

  #count(live: number, late: number, applyMs: number): void {
    const { rows, applied } = this.way.figures;
    rows.points += live;
    rows.late_points += late;
    applied.add(applyMs / 1000);
  }
}

function cleared(lines: Lines): Lines {
  lines.clear();
  return lines;
}
