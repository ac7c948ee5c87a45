import type { StreamRecord } from '#log';
import type { EventBatch, Half, PointBatch } from '#model';
import { points } from '#topics';

/** The first and the last time at which something of a source was received, Unix milliseconds; empty when nothing was. */
export class ReceiveTimes {
  constructor(
    public firstMs = Infinity,
    public lastMs = -Infinity,
  ) {}

  add(receivedMs: number): void {
    this.firstMs = Math.min(this.firstMs, receivedMs);
    this.lastMs = Math.max(this.lastMs, receivedMs);
  }

  covers({ firstMs, lastMs }: ReceiveTimes): boolean {
    return this.firstMs <= firstMs && lastMs <= this.lastMs;
  }

  get words(): string {
    return this.firstMs === Infinity ? 'never heard' : `heard from ${this.firstMs} to ${this.lastMs}`;
  }
}

/** When a source was heard in the two topics: a deletion in one of them ends what was heard there. */
class HeardTimes {
  points = new ReceiveTimes();
  events = new ReceiveTimes();

  get both(): ReceiveTimes {
    const { points: ofPoints, events: ofEvents } = this;
    return new ReceiveTimes(Math.min(ofPoints.firstMs, ofEvents.firstMs), Math.max(ofPoints.lastMs, ofEvents.lastMs));
  }
}

/** What the log says of one source, in numbers: of what stands behind its deletions. */
export class SourceCensus {
  /** Of what the source sent itself. */
  readonly heard = new HeardTimes();
  /** As `heard`, but only of records that the group of the list of sources has committed: the entry in that list must cover at least these times. */
  readonly tracked = new HeardTimes();
  /** Whether that group has not committed a deletion of the source yet: the list may say of it what it did before. */
  isDeletionAhead = false;
  events = 0;
  /** Points of each metric, repeated ones counted each time. */
  readonly points = new Map<string, number>();
  /** The offset of the last deletion in each topic: of the source, and of each metric. */
  readonly #deletions = { points: new Map<string | null, number>(), events: new Map<string | null, number>() };

  constructor(
    readonly orgId: string,
    readonly sourceId: string,
  ) {}

  /** Whether there is anything of it. */
  get isThere(): boolean {
    return this.points.size > 0 || this.events > 0 || this.heard.both.firstMs < Infinity || this.isDeletionAhead;
  }

  delete(half: Half, metric: string | null, offset: number, isTracked: boolean): void {
    this.#deletions[half].set(metric, offset);
    if (half === 'points' && metric === null) this.points.clear();
    else if (half === 'points') this.points.delete(metric!);
    else if (metric === null) this.events = 0;
    if (metric !== null) return;
    this.heard[half] = new ReceiveTimes();
    if (isTracked) this.tracked[half] = new ReceiveTimes();
    else this.isDeletionAhead = true;
  }

  /** Whether what a record brings of a metric was deleted later. */
  isDeleted(half: Half, metric: string, offset: number): boolean {
    const its = this.#deletions[half];
    return its.size > 0 && (offset < (its.get(null) ?? -1) || offset < (its.get(metric) ?? -1));
  }
}

export type Census = ReadonlyMap<string, SourceCensus>;

export const isPoints = (record: StreamRecord): record is StreamRecord<PointBatch> => record.topic === points;
export const isEvents = (record: StreamRecord): record is StreamRecord<EventBatch> => record.topic !== points;

/** @param isTracked whether the group that keeps the sources has committed a record. */
export function countRecords(
  records: readonly StreamRecord[],
  isTracked: (record: StreamRecord) => boolean,
  census: Map<string, SourceCensus>,
): void {
  for (const record of records) {
    const { orgId, sourceId, receivedMs, deleted } = record.value as PointBatch | EventBatch;
    let source = census.get(record.key);
    if (!source) census.set(record.key, (source = new SourceCensus(orgId, sourceId)));
    const half = isPoints(record) ? 'points' : 'events';
    if (deleted) {
      source.delete(half, deleted.metric, record.offset, isTracked(record));
      continue;
    }
    if (isPoints(record)) {
      for (const { metric, value } of record.value!.series) {
        if (value.length > 0) source.points.set(metric, (source.points.get(metric) ?? 0) + value.length);
      }
    } else if (isEvents(record)) source.events += record.value!.events.length;
    if (isEvents(record) && record.value!.origin === 'service') continue;
    source.heard[half].add(receivedMs);
    if (isTracked(record)) source.tracked[half].add(receivedMs);
  }
}

/** Series and events whose content is held at once, by the key of their source. */
export type Slice = ReadonlyMap<string, SourceSlice>;

interface SourceSlice {
  readonly source: SourceCensus;
  readonly metrics: string[];
  hasEvents: boolean;
}

/** Memory of an event and of a series besides its points, each counted in points of 32 bytes. */
const pointsPerEvent = 8;
const pointsPerSeries = 32;

/** Cuts everything into slices of at most `maxPoints` each; a series that is larger by itself is a slice. */
export function slicesOf(census: Census, maxPoints: number): Slice[] {
  const slices: Map<string, SourceSlice>[] = [];
  let room = 0;
  const take = (key: string, source: SourceCensus, size: number): SourceSlice => {
    if (size > room || slices.length === 0) {
      slices.push(new Map());
      room = maxPoints;
    }
    room -= size;
    const slice = slices.at(-1)!;
    const its = slice.get(key) ?? { source, metrics: [], hasEvents: false };
    slice.set(key, its);
    return its;
  };
  for (const [key, source] of census) {
    for (const [metric, size] of source.points) take(key, source, size + pointsPerSeries).metrics.push(metric);
    if (source.events > 0) take(key, source, source.events * pointsPerEvent).hasEvents = true;
  }
  return slices;
}
