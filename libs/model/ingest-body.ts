import type { Accepted, IngestContext } from './accepted.js';
import { TelemetryError } from './errors.js';
import { EventCollector } from './event-collector.js';
import { storedValue } from './event-value.js';
import { Flaws } from './flaws.js';
import { isMetric, isSourceId } from './names.js';
import { maxPoints, PointCollector, type PointMemory } from './point-collector.js';
import { readTags } from './tags.js';
import { maxTimestampMs, pointTimeMs } from './timestamp.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an ingest body from its JSON: the one definition of what a point is. Of optional fields null means the same as absent, and
 * unknown ones are ignored.
 *
 * @param json the body, with the value of each point as the place in `bytes` where it begins and where it ends; see `pruneBody`.
 * @throws TelemetryError `invalid_body`, `too_many_points`, `invalid_points`.
 */
export function acceptBody(json: unknown, bytes: Uint8Array, { orgId, receivedMs }: IngestContext, memory: PointMemory): Accepted {
  const body = fieldsOf(json);
  if (!body) throw new TelemetryError('invalid_body', 'Send an object with source_id and points.');
  const { points } = body;
  if (!Array.isArray(points)) throw new TelemetryError('invalid_body', 'Give the body a field `points` that is an array.');
  if (points.length > maxPoints) throw new TelemetryError('too_many_points', 'Send at most 10,000 points in one body.');

  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = new BodyReader(buffer, receivedMs, body['source_id'], new PointCollector(memory));
  for (let place = 0; place < points.length && !reader.flaws.full; place++) reader.read(points[place], place);
  if (reader.flaws.any) throw reader.flaws.toError();
  return {
    points: reader.points.batches(orgId, receivedMs),
    events: reader.events.batches(orgId, receivedMs),
    count: points.length,
    sourceId: reader.onlySource,
  };
}

class BodyReader {
  readonly flaws = new Flaws();
  readonly events = new EventCollector();
  readonly #named = new Set<string>();

  constructor(
    private readonly bytes: Buffer,
    private readonly receivedMs: number,
    private readonly bodySourceId: unknown,
    readonly points: PointCollector,
  ) {
    if (isSourceId(bodySourceId)) this.#named.add(bodySourceId);
    else if (isGiven(bodySourceId)) this.flaws.add('invalid_source_id', 'source_id');
  }

  get onlySource(): string | undefined {
    return this.#named.size === 1 ? [...this.#named][0] : undefined;
  }

  read(json: unknown, place: number): void {
    const point = fieldsOf(json);
    if (!point) return this.flaws.add('point_not_object', 'points', place);
    const sourceId = this.#sourceId(point['source_id'], place);
    const metric = this.#metric(point['metric'], place);
    const timestampMs = this.#timestampMs(point['timestamp'], place);
    const tags = readTags(point['tags'], place, this.flaws);
    const value = this.#textOf(point['value']);
    if (point['class'] === 'event') {
      const stored = value === undefined ? 'missing_value' : storedValue(value, value.startsWith('"') && JSON.parse(value));
      if (typeof stored === 'string') this.flaws.add(stored, 'points', place, 'value');
      else if (!this.flaws.any) this.events.add(sourceId, { metric, timestampMs, ...stored, tags, place });
    } else if (this.#isNumeric(point['class'], value, place) && !this.flaws.any) {
      this.points.add(this.points.run(sourceId, metric, tags), timestampMs, Number(value));
    }
  }

  /** The JSON of a value as it was sent. */
  #textOf(span: unknown): string | undefined {
    if (span === undefined) return undefined;
    const [start, end] = span as [number, number];
    return this.bytes.toString('utf8', start, end);
  }

  #sourceId(value: unknown, place: number): string {
    if (isSourceId(value)) {
      this.#named.add(value);
      return value;
    }
    if (isGiven(value)) this.flaws.add('invalid_source_id', 'points', place, 'source_id');
    else if (isSourceId(this.bodySourceId)) return this.bodySourceId;
    else if (!isGiven(this.bodySourceId)) this.flaws.add('missing_source_id', 'points', place);
    return '';
  }

  #metric(value: unknown, place: number): string {
    if (isMetric(value)) return value;
    if (value === undefined) this.flaws.add('missing_metric', 'points', place);
    else this.flaws.add('invalid_metric', 'points', place, 'metric');
    return '';
  }

  #timestampMs(value: unknown, place: number): number {
    if (!isGiven(value)) return this.receivedMs;
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      this.flaws.add('invalid_timestamp', 'points', place, 'timestamp');
      return 0;
    }
    const timestampMs = pointTimeMs(value, this.receivedMs);
    if (timestampMs > maxTimestampMs) this.flaws.add('timestamp_out_of_range', 'points', place, 'timestamp');
    return timestampMs;
  }

  #isNumeric(kind: unknown, value: string | undefined, place: number): boolean {
    if (isGiven(kind) && kind !== 'metric') this.flaws.add('unknown_class', 'points', place, 'class');
    else if (value === undefined) this.flaws.add('missing_value', 'points', place);
    else if (!/^[-\d]/.test(value) || !Number.isFinite(Number(value))) this.flaws.add('invalid_value', 'points', place, 'value');
    else return true;
    return false;
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function fieldsOf(json: unknown): Fields | undefined {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : undefined;
}
