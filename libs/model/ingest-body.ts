import type { Accepted, IngestContext } from './accepted.js';
import { TelemetryError } from './errors.js';
import { EventCollector } from './event-collector.js';
import { storedValue } from './event-value.js';
import { Flaws } from './flaws.js';
import { isDigit } from './json-bytes.js';
import { NamedSources } from './named-sources.js';
import { isMetric, isSourceId } from './names.js';
import { maxPoints } from './point.js';
import { PointCollector, type PointMemory } from './point-collector.js';
import type { SentBody, Span } from './sent-body.js';
import { readTags } from './tags.js';
import { maxTimestampMs, pointTimeMs } from './timestamp.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an ingest body in steps: the one definition of what a point is. Of optional fields null means the same as absent, and unknown ones are
 * ignored.
 *
 * @param body undefined when it is not an object. @param bytes hold the values of its points.
 * @throws TelemetryError `invalid_body`, `too_many_points`, `invalid_points`.
 */
export function* acceptBody(
  body: SentBody | undefined,
  bytes: Buffer,
  context: IngestContext,
  memory: PointMemory,
): Generator<void, Accepted> {
  const { orgId, receivedMs } = context;
  if (!body) throw new TelemetryError('invalid_body', 'Send an object with source_id and points.');
  const { points } = body;
  if (points === undefined) throw new TelemetryError('invalid_body', 'Give the body a field `points` that is an array.');
  if (points > maxPoints) throw new TelemetryError('too_many_points', 'Send at most 10,000 points in one body.');

  const { sourceId } = body;
  const reader = new PointReader(bytes, context, new PointCollector(memory), new EventCollector(), new NamedSources());
  reader.readBodySource(sourceId);
  for (let place = 0; place < points && !reader.flaws.full; place++) {
    reader.read(yield* body.point(place), place, sourceId);
  }
  if (reader.flaws.any) throw reader.flaws.toError();
  yield;
  return {
    points: reader.points.batches(orgId, receivedMs),
    events: reader.events.batches(orgId, receivedMs),
    count: points,
    sourceId: reader.named.only,
  };
}

/** Reads points one by one and gives them to collectors. */
export class PointReader {
  readonly flaws = new Flaws();

  /** @param named takes all sources that are named. */
  constructor(
    private readonly bytes: Buffer,
    private readonly context: IngestContext,
    readonly points: PointCollector,
    readonly events: EventCollector,
    readonly named: NamedSources,
  ) {}

  readBodySource(value: unknown): void {
    const { sourceId } = this.context;
    if (sourceId !== undefined) this.named.add(sourceId);
    else if (isSourceId(value)) this.named.add(value);
    else if (isGiven(value)) this.flaws.add('invalid_source_id', 'source_id');
  }

  /** @param json as `sentPoint` tells it. @param bodySourceId for a point without one. */
  read(json: unknown, place: number, bodySourceId: unknown): void {
    const point = fieldsOf(json);
    if (!point) return this.flaws.add('point_not_object', 'points', place);
    const sourceId = this.#sourceId(point['source_id'], place, bodySourceId);
    const metric = this.#metric(point['metric'], place);
    const timestampMs = this.#timestampMs(point['timestamp'], place);
    const tags = readTags(point['tags'], place, this.flaws);
    const span = point['value'] as Span | undefined;
    if (point['class'] === 'event') {
      const stored = span ? storedValue(this.bytes, ...span) : 'missing_value';
      if (typeof stored === 'string') this.flaws.add(stored, 'points', place, 'value');
      else if (!this.flaws.any) this.events.add(sourceId, { metric, timestampMs, ...stored, tags, place });
    } else {
      const value = this.#number(point['class'], span, place);
      if (!this.flaws.any) this.points.add(this.points.run(sourceId, metric, tags), timestampMs, value);
    }
  }

  #sourceId(value: unknown, place: number, bodySourceId: unknown): string {
    const given = this.context.sourceId;
    if (given !== undefined) return given;
    if (isSourceId(value)) {
      this.named.add(value);
      return value;
    }
    if (isGiven(value)) this.flaws.add('invalid_source_id', 'points', place, 'source_id');
    else if (isSourceId(bodySourceId)) return bodySourceId;
    else if (!isGiven(bodySourceId)) this.flaws.add('missing_source_id', 'points', place);
    return '';
  }

  #metric(value: unknown, place: number): string {
    if (isMetric(value)) return value;
    if (value === undefined) this.flaws.add('missing_metric', 'points', place);
    else this.flaws.add('invalid_metric', 'points', place, 'metric');
    return '';
  }

  #timestampMs(value: unknown, place: number): number {
    const { receivedMs } = this.context;
    if (!isGiven(value)) return receivedMs;
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      this.flaws.add('invalid_timestamp', 'points', place, 'timestamp');
      return 0;
    }
    const timestampMs = pointTimeMs(value, receivedMs);
    if (timestampMs > maxTimestampMs) this.flaws.add('timestamp_out_of_range', 'points', place, 'timestamp');
    return timestampMs;
  }

  #number(kind: unknown, span: Span | undefined, place: number): number {
    const value = span && isNumberAt(this.bytes, span[0]) ? Number(this.bytes.toString('latin1', ...span)) : Number.NaN;
    if (isGiven(kind) && kind !== 'metric') this.flaws.add('unknown_class', 'points', place, 'class');
    else if (!span) this.flaws.add('missing_value', 'points', place);
    else if (!Number.isFinite(value)) this.flaws.add('invalid_value', 'points', place, 'value');
    return value;
  }
}

const isNumberAt = (bytes: Buffer, at: number): boolean => bytes[at] === 0x2d || isDigit(bytes[at]);

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function fieldsOf(json: unknown): Fields | undefined {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : undefined;
}
