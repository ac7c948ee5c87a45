import type { Accepted } from './accepted.js';
import { addText, NameFilter, type NameHash } from './name-filter.js';
import { nameKinds, type NameKind, type NameLimits } from './organization-limits.js';
import { type EventBatch, noTags, type PointBatch, type Tags } from './point.js';

/** A name is active until the end of the period after the one in which it came last. */
export const activePeriodMs = 3_600_000;

/** The metrics of a batch are remembered for the next batch if there are at most so many. */
const maxKeptMetrics = 256;

/** More names of one kind than may be active. */
export interface TooManyNames {
  readonly kind: NameKind;
  readonly limit: number;
  /** When so many names have ended that the body fits, if none of the current period go on; Unix milliseconds. */
  readonly endMs: number;
}

/**
 * Which lists of series of a source are all known: a device usually sends the same metrics again and again, and then one look says so. Shared by
 * all organizations; of two lists that want the same slot the later one has it.
 */
export class KnownLists {
  readonly #slots = new Int32Array(64 * 1024);

  has(list: number): boolean {
    return this.#slots[list & (this.#slots.length - 1)] === list;
  }

  add(list: number): void {
    this.#slots[list & (this.#slots.length - 1)] = list;
  }
}

/** The names of one period. */
class Period {
  readonly filter = new NameFilter();
  readonly counts: Record<NameKind, number> = { sources: 0, series: 0, tag_sets: 0 };
}

interface FreshName extends NameHash {
  readonly kind: NameKind;
}

/**
 * The names of one organization that came in this period and in the last one, and how many there are: about eight bytes each, whatever they
 * are. With a million of them, one new name in 4,000 is taken for a known one, and is not counted.
 */
export class ActiveNames {
  /** What the hashes of the names of each kind begin with. */
  readonly #starts: Readonly<Record<NameKind, NameHash>>;
  #number = -1;
  #current = new Period();
  /** What came in the period before; its counts leave out what has come again since. */
  #previous = new Period();
  // Of the body that is looked at: its new names, each once, and the tags that were looked at.
  readonly #fresh: FreshName[] = [];
  #freshFilter = new NameFilter();
  readonly #tags = new Set<Tags>();
  /** Lists that are known once the names of the body are. */
  readonly #lists: number[] = [];
  readonly #source: NameHash = { a: 0, b: 0 };
  readonly #hash: NameHash = { a: 0, b: 0 };
  /** The metrics of the batch before, and their hash: the sources of a fleet send the same metrics. */
  readonly #metrics: string[] = [];
  #metricsHash = 0;

  /** @param secret a random number of 32 bits: who does not know it cannot choose names that are taken for known ones. */
  constructor(
    secret: number,
    private readonly known = new KnownLists(),
  ) {
    const start = (kind: NameKind): NameHash => addText({ a: secret, b: ~secret }, kind, { a: 0, b: 0 });
    this.#starts = { sources: start('sources'), series: start('series'), tag_sets: start('tag_sets') };
  }

  /**
   * Takes note of the names of a body that is about to be stored. Where it brings more new ones than may be active, it takes note of none of
   * those and says so. A body without new names always passes. The work is one hash for each run of the body, not for each point.
   */
  admit({ points, events }: Accepted, limits: () => NameLimits, nowMs: number): TooManyNames | undefined {
    this.#turn(nowMs);
    for (const batch of points) this.#lookAtPoints(batch);
    for (const batch of events) this.#lookAtEvents(batch);
    const excess = this.#fresh.length === 0 ? undefined : this.#excess(limits());
    if (!excess) this.#keepFresh();
    this.#forgetBody();
    return excess;
  }

  active(kind: NameKind, nowMs: number): number {
    this.#turn(nowMs);
    return this.#current.counts[kind] + this.#previous.counts[kind];
  }

  /** No name is active. */
  isIdle(nowMs: number): boolean {
    return nameKinds.every((kind) => this.active(kind, nowMs) === 0);
  }

  /** A clock that is set back changes nothing. */
  #turn(nowMs: number): void {
    const number = Math.floor(nowMs / activePeriodMs);
    if (number <= this.#number) return;
    this.#previous = number === this.#number + 1 ? this.#current : new Period();
    this.#current = new Period();
    this.#number = number;
  }

  #lookAtPoints({ sourceId, series }: PointBatch): void {
    addText(this.#starts.series, sourceId, this.#source);
    const list = this.#listOf(series);
    if (!this.known.has(list)) {
      this.#lists.push(list);
      this.#look('sources', addText(this.#starts.sources, sourceId, this.#hash));
      for (const { metric } of series) this.#look('series', addText(this.#source, metric, this.#hash));
    }
    for (const { tags } of series) {
      if (tags === noTags || this.#tags.has(tags)) continue;
      this.#tags.add(tags);
      this.#look('tag_sets', addText(this.#starts.tag_sets, tags, this.#hash));
    }
  }

  /** What stands for these series of the source in this period. */
  #listOf(series: PointBatch['series']): number {
    if (!this.#areLastMetrics(series)) this.#keepMetrics(series);
    const { a, b } = this.#source;
    return mixed(mixed(this.#number, a, b), this.#metricsHash, series.length) | 0;
  }

  #areLastMetrics(series: PointBatch['series']): boolean {
    if (series.length !== this.#metrics.length) return false;
    for (let at = 0; at < series.length; at++) if (series[at]!.metric !== this.#metrics[at]) return false;
    return true;
  }

  #keepMetrics(series: PointBatch['series']): void {
    this.#metrics.length = this.#metricsHash = 0;
    for (const { metric } of series) {
      const { a, b } = addText(this.#starts.series, metric, this.#hash);
      this.#metricsHash = mixed(this.#metricsHash, a, b);
      if (series.length <= maxKeptMetrics) this.#metrics.push(metric);
    }
  }

  #lookAtEvents({ sourceId, events }: EventBatch): void {
    this.#look('sources', addText(this.#starts.sources, sourceId, this.#hash));
    addText(this.#starts.series, sourceId, this.#source);
    let last: string | undefined;
    for (const { metric } of events) {
      if (metric !== last) this.#look('series', addText(this.#source, metric, this.#hash));
      last = metric;
    }
  }

  #look(kind: NameKind, hash: NameHash): void {
    if (this.#current.filter.has(hash)) return;
    if (this.#previous.filter.has(hash)) return this.#goesOn(kind, hash);
    if (this.#freshFilter.has(hash)) return;
    this.#freshFilter.add(hash);
    this.#fresh.push({ kind, a: hash.a, b: hash.b });
  }

  #goesOn(kind: NameKind, hash: NameHash): void {
    // A name that is taken for a known one was never counted.
    if (this.#previous.counts[kind] > 0) this.#previous.counts[kind]--;
    this.#current.counts[kind]++;
    this.#current.filter.add(hash);
  }

  #excess(limits: NameLimits): TooManyNames | undefined {
    const more: Record<NameKind, number> = { sources: 0, series: 0, tag_sets: 0 };
    for (const { kind } of this.#fresh) more[kind]++;
    const isOver = (kind: NameKind): boolean =>
      more[kind] > 0 && this.#current.counts[kind] + this.#previous.counts[kind] + more[kind] > limits[kind];
    const kind = nameKinds.find(isOver);
    if (!kind) return undefined;
    // At the end of this period only names of the one before end.
    const periods = this.#current.counts[kind] + more[kind] > limits[kind] ? 2 : 1;
    return { kind, limit: limits[kind], endMs: (this.#number + periods) * activePeriodMs };
  }

  #keepFresh(): void {
    for (const name of this.#fresh) {
      this.#current.counts[name.kind]++;
      this.#current.filter.add(name);
    }
    for (const list of this.#lists) this.known.add(list);
  }

  #forgetBody(): void {
    if (this.#fresh.length > 0) {
      this.#fresh.length = 0;
      this.#freshFilter = new NameFilter();
    }
    if (this.#lists.length > 0) this.#lists.length = 0;
    if (this.#tags.size > 0) this.#tags.clear();
  }
}

/** Hashes two more numbers into a hash. */
const mixed = (hash: number, a: number, b: number): number => Math.imul(hash ^ a, 0x9e37_79b1) ^ b;
