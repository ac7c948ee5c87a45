import { bucketStartMs, type Lease, type PointColumns } from '#model';
import type { NameRows, SeriesName } from './client.js';
import { Delivery, Refused, RefusedRow, Signal, type LinePath } from './delivery.js';
import { Lines } from './lines.js';
import type { Series, TagSet } from './series-names.js';

/** When so many live rows wait, they are sent before they are due. */
const fullRows = 50_000;
/** Bytes of rows that wait or are in flight. */
const maxBytes = 64 << 20;
const lookMs = 500;
/** Partitions of one commit: QuestDB rewrites each one that late rows touch, and other commits wait meanwhile. */
const maxPartitions = 50;
/** From the beginning of one flush to that of the next. */
const liveMs = { min: 500, max: 5000 };
const lateMs = { min: 5000, max: 30_000 };
/**
 * The time between flushes is so many times the time that QuestDB took to apply the last one, so that the table is at work for a quarter of
 * the time. Where that would keep readers waiting for longer than `max`, the table works more instead.
 */
const timesApply = 4;

/** When rows are due that wait for their time. */
export interface DueMs {
  readonly live: number;
  readonly late: number;
}

/** A flush that readers see. */
export interface Flushed {
  readonly beganMs: number;
  /** From its acceptance until readers saw it. */
  readonly applyMs: number;
  /** Whether it had late rows, whose cost says nothing about the next live ones. */
  readonly late: boolean;
}

/** When rows are due after a flush, on the clock of its beginning. */
export function dueAfter(before: DueMs, { beganMs, applyMs, late }: Flushed): DueMs {
  const next = ({ min, max }: typeof liveMs): number => beganMs + Math.min(max, Math.max(min, timesApply * applyMs));
  return late ? { live: beganMs + liveMs.min, late: next(lateMs) } : { live: next(liveMs), late: before.late };
}

/**
 * Late rows wait apart, because each partition that they touch is written anew. Rows of one key stay in order: they are of one
 * organization and partition.
 */
export class LateRows {
  /** Counts how often it became empty. */
  round = 0;
  readonly #organizations = new Map<string, Map<number, Lines>>();

  /** @param partitionMs time of one partition. */
  constructor(private readonly partitionMs: number) {}

  get empty(): boolean {
    return this.#organizations.size === 0;
  }

  /** Where a row of this time goes. */
  lines(org: string, timestampMs: number): Lines {
    const partition = bucketStartMs(timestampMs, this.partitionMs);
    let parts = this.#organizations.get(org);
    if (!parts) this.#organizations.set(org, (parts = new Map()));
    let lines = parts.get(partition);
    if (!lines) parts.set(partition, (lines = new Lines(256)));
    return lines;
  }

  /** All that waits, by organization and partition. */
  parts(): Lines[] {
    return [...this.#organizations.values()].flatMap((parts) => [...parts.values()]);
  }

  /** Takes the rows of a bounded number of partitions, organizations in turn. */
  take(): Lines[] {
    const taken: Lines[] = [];
    const different = new Set<number>();
    for (let before = -1; before < taken.length;) {
      before = taken.length;
      // Round-robin: an organization that has more goes to the back of the queue.
      const organizations = Array.from(this.#organizations);
      for (const [org, parts] of organizations) {
        const [partition, lines] = parts.entries().next().value!;
        if (!different.has(partition) && different.size === maxPartitions) continue;
        different.add(partition);
        taken.push(lines);
        parts.delete(partition);
        this.#organizations.delete(org);
        if (parts.size > 0) this.#organizations.set(org, parts);
      }
    }
    if (this.empty) this.round++;
    return taken;
  }
}

interface Flush {
  readonly live: Lines;
  readonly late: readonly Lines[];
}

/** Writes rows of points under one lease: live ones soon, late ones apart and more seldom. */
export class PointRows {
  readonly #late: LateRows;
  readonly #changed = new Signal();
  readonly #delivery: Delivery;
  readonly #table: Buffer;
  readonly #running: Promise<void>;
  #live = new Lines();
  /** Without rows: the memory of the last body that was sent. */
  #spare = new Lines();
  #lateBytes = 0;
  #underWay: Flush | undefined;
  #underWayBytes = 0;
  #draining = 0;
  #dueMs = { live: 0, late: 0 };
  /** Live rows taken in, and how many of them are visible. */
  #added = 0;
  #visible = 0;

  constructor(
    private readonly path: LinePath,
    private readonly names: NameRows,
    lease: Lease,
    partitionMs: number,
    /** Called when what is held can no longer be written though `end` was not called: after a `RefusedRow`, or without memory. */
    lost: (cause: unknown) => void,
  ) {
    this.#late = new LateRows(partitionMs);
    this.#table = Buffer.from(path.tables[0]!);
    this.#delivery = new Delivery(path, lease, this.#changed);
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

  /** Adds points of one series, from one place in their columns to before another. @param isLate whether their rows belong to the late ones. */
  add(series: Series, tagSet: TagSet, points: PointColumns, from: number, to: number, isLate: boolean): void {
    for (let at = from; at < to; at++) {
      const begin = at;
      if (!isLate) at = this.#liveEnd(tagSet, points, at, to);
      if (at > begin) this.#live.points(this.#table, tagSet.symbols, points, begin, at);
      this.#added += at - begin;
      if (at < to) this.#addLate(series, tagSet, points, at);
    }
  }

  /** Where the live points end. A point that may have the key of an earlier late row is late too: of two rows with one key the newer must come last. */
  #liveEnd({ progress }: TagSet, { timestampMs }: PointColumns, from: number, to: number): number {
    if (progress.lateRound !== this.#late.round) return to;
    let end = from;
    while (end < to && timestampMs[end]! > progress.lateThroughMs) end++;
    return end;
  }

  #addLate({ org }: Series, { symbols, progress }: TagSet, points: PointColumns, at: number): void {
    const timestampMs = points.timestampMs[at]!;
    const lines = this.#late.lines(org, timestampMs);
    const before = lines.length;
    lines.points(this.#table, symbols, points, at, at + 1);
    this.#lateBytes += lines.length - before;
    const waits = progress.lateRound === this.#late.round;
    progress.lateThroughMs = waits ? Math.max(progress.lateThroughMs, timestampMs) : timestampMs;
    progress.lateRound = this.#late.round;
  }

  /** To be called after rows were added. */
  added(): void {
    if (this.#live.rows >= fullRows || this.bytes > maxBytes / 2 || this.#dueInMs(performance.now()) <= 0) this.#changed.ring();
  }

  /** Resolves when more may be added. Rejects `store_unavailable` when that is not foreseeable. */
  async room(): Promise<void> {
    while (this.bytes >= maxBytes) await this.#look();
  }

  /** Resolves when readers see all that was added before. Rejects `store_unavailable` when that is not foreseeable. */
  async drained(): Promise<void> {
    const added = this.#added;
    const parts = new Set(this.#lateParts());
    this.#draining++;
    this.#changed.ring();
    try {
      while (this.#visible < added || this.#lateParts().some((part) => parts.has(part))) await this.#look();
    } finally {
      this.#draining--;
    }
  }

  /**
   * Sends rows and the names of their series by themselves, behind all that was added before, without adding them. Rejects `RefusedRow`, and `store_unavailable` when
   * an answer is not foreseeable.
   */
  async probe(lines: Lines, names: readonly SeriesName[]): Promise<void> {
    const giveUp = (): void => this.path.outage.check();
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
    this.path.outage.check();
    await this.#changed.wait(lookMs);
  }

  /** Late rows that wait or are under way. */
  #lateParts(): Lines[] {
    return [...this.#late.parts(), ...(this.#underWay?.late ?? [])];
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#delivery.check();
      const flush = this.#due(performance.now());
      if (flush) await this.#flush(flush);
      else await this.#changed.wait(Math.min(lookMs, this.#dueInMs(performance.now())));
      this.#changed.ring();
    }
  }

  /** Milliseconds until the live rows that wait are due, 0 or less when they are; `Infinity` when none wait. */
  #dueInMs(nowMs: number): number {
    return this.#live.rows > 0 ? this.#dueMs.live - nowMs : Infinity;
  }

  /** Late rows are taken together with the live ones added before them, which are sent first. */
  #due(nowMs: number): Flush | undefined {
    const pressed = this.#draining > 0 || this.bytes > maxBytes / 2;
    const late = !this.#late.empty && (pressed || nowMs >= this.#dueMs.late);
    const live = this.#live.rows > 0 && (pressed || this.#dueInMs(nowMs) <= 0 || this.#live.rows >= fullRows);
    if (!late && !live) return undefined;
    const flush = { live: this.#live, late: late ? this.#late.take() : [] };
    this.#live = this.#spare;
    return flush;
  }

  async #flush(flush: Flush): Promise<void> {
    const { live, late } = flush;
    const lines = new Lines(64);
    for (const part of late) lines.append(part);
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
    const { rows, applied } = this.path.figures;
    rows.points += live.rows;
    rows.late_points += lines.rows;
    applied.add(applyMs / 1000);
    this.#visible += live.rows;
    this.#underWay = undefined;
    this.#spare = live;
    this.#spare.clear();
    this.#underWayBytes = 0;
  }

  async #send(lines: Lines, giveUp?: () => void): Promise<void> {
    try {
      await this.#delivery.send(this.path.sink, lines.pieces, giveUp);
    } catch (cause) {
      throw cause instanceof Refused ? new RefusedRow(lines.symbolsOfPoint(this.#table, cause.row ?? 0), cause) : cause;
    }
  }
}
