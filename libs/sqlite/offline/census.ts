import type { StreamRecord } from '#log';
import type { EventBatch, PointBatch } from '#model';
import { points } from '#topics';

/** From the first to the last of some receive times, Unix milliseconds; of none it is empty. */
export class Span {
  constructor(
    public firstMs = Infinity,
    public lastMs = -Infinity,
  ) {}

  add(receivedMs: number): void {
    this.firstMs = Math.min(this.firstMs, receivedMs);
    this.lastMs = Math.max(this.lastMs, receivedMs);
  }

  covers({ firstMs, lastMs }: Span): boolean {
    return this.firstMs <= firstMs && lastMs <= this.lastMs;
  }

  get words(): string {
    return this.firstMs === Infinity ? 'never heard' : `heard from ${this.firstMs} to ${this.lastMs}`;
  }
}

/** What the log says of one source, in numbers. */
export class SourceCensus {
  /** When it sent something itself. */
  readonly heard = new Span();
  /** As `heard`, of what the group that keeps the sources has committed: the least that its record must say. */
  readonly tracked = new Span();
  events = 0;
  /** Points of each metric, repeated ones counted each time. */
  readonly points = new Map<string, number>();

  constructor(
    readonly orgId: string,
    readonly sourceId: string,
  ) {}
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
    const { orgId, sourceId, receivedMs } = record.value as PointBatch | EventBatch;
    let source = census.get(record.key);
    if (!source) census.set(record.key, (source = new SourceCensus(orgId, sourceId)));
    if (isPoints(record))
      for (const { metric, value } of record.value!.series) source.points.set(metric, (source.points.get(metric) ?? 0) + value.length);
    else if (isEvents(record)) source.events += record.value!.events.length;
    if (isEvents(record) && record.value!.origin === 'service') continue;
    source.heard.add(receivedMs);
    if (isTracked(record)) source.tracked.add(receivedMs);
  }
}

/** Of which series, and of which sources' events, the content is held at once. */
export interface Slice {
  readonly series: Map<SourceCensus, Set<string>>;
  readonly events: Set<SourceCensus>;
}

/** What is held beside a point, in points: an event is some numbers and short texts, a series has columns and places in maps of its own. */
const pointsPerEvent = 8;
const pointsPerSeries = 32;

/** Cuts everything into slices of at most `mostPoints` each; a series that is larger by itself is a slice. */
export function slicesOf(census: Census, mostPoints: number): Slice[] {
  const slices: Slice[] = [];
  let room = 0;
  const sliceWith = (size: number): Slice => {
    if (size > room || slices.length === 0) {
      slices.push({ series: new Map(), events: new Set() });
      room = mostPoints;
    }
    room -= size;
    return slices.at(-1)!;
  };
  for (const source of census.values()) {
    for (const [metric, size] of source.points) {
      const { series } = sliceWith(size + pointsPerSeries);
      const metrics = series.get(source);
      if (metrics) metrics.add(metric);
      else series.set(source, new Set([metric]));
    }
    if (source.events > 0) sliceWith(source.events * pointsPerEvent).events.add(source);
  }
  return slices;
}
