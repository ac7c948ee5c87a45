import { placeOf, timeOf, type PlainPoint } from './fold.js';

/** A point as a client writes it. */
export interface SentPoint {
  readonly source_id?: string;
  readonly metric: string;
  readonly value: unknown;
  readonly class?: 'event' | 'metric';
  /** Unix seconds, milliseconds, microseconds or nanoseconds; the model of the service needs one on every point. */
  readonly timestamp: number;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface SentBody {
  readonly source_id?: string;
  readonly points: readonly SentPoint[];
}

export interface LogEntry {
  readonly timestampMs: number;
  readonly metric: string;
  readonly value: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** What the service must know of one source. */
export class SourceWorld {
  /** Points by their place by metric, deduplicated: the later point in the log wins. */
  readonly series = new Map<string, Map<string, PlainPoint>>();
  /** Log entries by identity: (metric, time, value, tags, ordinal within the body). */
  readonly entries = new Map<string, LogEntry>();

  addMetric(metric: string, point: PlainPoint): void {
    let points = this.series.get(metric);
    if (!points) this.series.set(metric, (points = new Map()));
    points.set(placeOf(point), point);
  }
}

/** What the service must know of one organization, kept by the rules of the contract and nothing else. */
export class World {
  readonly sources = new Map<string, SourceWorld>();

  /** Takes a body that was accepted; bodies of one source must come in the order in which they were acknowledged. */
  accept(body: SentBody): void {
    const ordinals = new Map<string, number>();
    for (const point of body.points) {
      const sourceId = point.source_id ?? body.source_id!;
      const source = this.#source(sourceId);
      const timestampMs = timeOf(point.timestamp)!;
      if (point.class !== 'event') {
        const tags = tagsText(point.tags ?? {});
        source.addMetric(point.metric, { timestampMs, tags, value: point.value as number });
      } else {
        const entry = { timestampMs, metric: point.metric, value: stored(point.value), tags: point.tags ?? {} };
        const identity = identityOf(sourceId, entry);
        const ordinal = ordinals.get(identity) ?? 0;
        ordinals.set(identity, ordinal + 1);
        source.entries.set(`${identity} ${ordinal}`, entry);
      }
    }
  }

  #source(sourceId: string): SourceWorld {
    let source = this.sources.get(sourceId);
    if (!source) this.sources.set(sourceId, (source = new SourceWorld()));
    return source;
  }
}

const stored = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Tags as text, by which points of one time are ordered: empty without tags, else JSON of pairs in the order of their keys. */
function tagsText(tags: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return pairs.length === 0 ? '' : JSON.stringify(pairs);
}

const identityOf = (sourceId: string, { timestampMs, metric, value, tags }: LogEntry): string =>
  JSON.stringify([sourceId, metric, timestampMs, value, Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
