import type { Accepted, IngestContext } from './accepted.js';
import { BodyTags, pointDepth } from './body-tags.js';
import { TelemetryError } from './errors.js';
import { EventCollector } from './event-collector.js';
import { storedValue } from './event-value.js';
import { field } from './field.js';
import { PointReader } from './ingest-body.js';
import { closeBrace, closeBracket, colon, openBrace, openBracket, quote } from './json-bytes.js';
import { JsonCursor, maxValueBytes, unusual } from './json-cursor.js';
import { JsonPasser } from './json-passer.js';
import type { Name } from './name-table.js';
import { NamedSources } from './named-sources.js';
import { PlainPoints } from './plain-points.js';
import { PointCollector, type PointMemory } from './point-collector.js';
import type { PointLayout } from './point-layout.js';
import { maxPoints, noTags, type Tags } from './point.js';
import { sentPoint } from './sent-body.js';
import type { SourceIds } from './source-ids.js';
import { maxTimestampMs, pointTimeMs } from './timestamp.js';

const bodyDepth = 1;
/** The body's source may stand behind its points: it is looked for in so many last bytes. */
const tailBytes = 600;

/** Objects with more fields go to the slow parser, which skips what it does not need. */
const maxFields = 64;

/**
 * How much is read in one step. A plain point counts one, so that a body of plain points is one step; tags, runs and values count as many times
 * more as they cost.
 */
const stepWork = 16_384;
const runWork = 8;
const unusualWork = 32;
const bytesOfWork = 32;

/** Reads a body of the usual shapes in one pass. A point of another shape is read the slow way, and the pass goes on behind it. */
export class BodyScanner {
  readonly #points: PointCollector;
  readonly #plain: PlainPoints;
  /** Of the point before. */
  readonly #layout: PointLayout;
  #events: EventCollector | undefined;
  #tags: BodyTags | undefined;
  readonly #named = new NamedSources();
  /** The body's own source, read or guessed. A wrong guess falls back to the slow parser. */
  #bodySource = '';
  #isBodySourceRead = false;
  /** Every point is of the body's source, which the body itself does not say. */
  readonly #isSourceGiven: boolean;
  /** Points read; negative until the array begins. */
  #count = -1;
  /** Done in this step, but for the search of runs. */
  #work = 0;
  /** Steps that ended before the last point. */
  #steps = 0;

  // The point that is being read.
  #metric: Name | undefined;
  #sourceId = '';
  #timestampMs = 0;
  #tagNumber = 0;
  #isEvent = false;
  #isNumber = false;
  #number = 0;
  #valueStart = 0;
  #valueEnd = 0;

  constructor(
    private readonly json: JsonCursor,
    private readonly context: IngestContext,
    scan: number,
    memory: PointMemory,
    private readonly sourceIds: SourceIds,
  ) {
    this.#points = new PointCollector(memory, scan);
    this.#plain = new PlainPoints(json, memory, this.#points, context.receivedMs);
    this.#layout = memory.layout;
    this.#layout.forget();
    const { sourceId } = context;
    this.#isSourceGiven = sourceId !== undefined;
    if (sourceId === undefined) return;
    this.#bodySource = sourceId;
    this.#isBodySourceRead = true;
    this.#named.add(sourceId);
  }

  *body(): Generator<void, Accepted> {
    this.json.expect(openBrace);
    let fields = 0;
    do {
      if (++fields > maxFields) throw unusual;
      const key = this.#field();
      if (key === field.source_id && !this.#isSourceGiven) this.#readBodySource();
      else if (key === field.points) yield* this.#readPoints();
      else this.json.pass(bodyDepth);
    } while (this.json.goesOn(closeBrace));
    if (this.#steps > 0) yield;
    const isWhole = this.json.peek() === undefined && this.#count >= 0;
    if (!isWhole || (this.#bodySource !== '' && !this.#isBodySourceRead)) throw unusual;
    const { orgId, receivedMs } = this.context;
    return {
      points: this.#points.batches(orgId, receivedMs),
      events: this.#events?.batches(orgId, receivedMs) ?? [],
      count: this.#count,
      sourceId: this.#named.only,
    };
  }

  #readBodySource(): void {
    const { json } = this;
    json.expect(quote);
    const sourceId = this.sourceIds.at(json.bytes, json.at);
    if (sourceId === undefined) throw unusual;
    json.at += sourceId.length + 1;
    this.#named.add(sourceId);
    if (this.#bodySource !== '' && this.#bodySource !== sourceId) throw unusual;
    this.#bodySource = sourceId;
    this.#isBodySourceRead = true;
  }

  *#readPoints(): Generator<void> {
    if (this.#count >= 0) throw unusual;
    this.#count = 0;
    this.json.expect(openBracket);
    if (this.json.peek() === closeBracket) {
      this.json.at++;
      return;
    }
    do {
      this.#readPlain();
      const start = this.json.at;
      if (!this.#isRead()) yield* this.#readUnusual(start);
      if (++this.#work + runWork * this.#points.searches < stepWork) continue;
      this.#work = 0;
      this.#points.searches = 0;
      this.#steps++;
      yield;
    } while (this.json.goesOn(closeBracket));
  }

  #readPlain(): void {
    if (!this.#layout.isPlain || this.#bodySource === '') return;
    const count = this.#plain.read(this.#bodySource, Math.min(maxPoints - this.#count, stepWork - this.#work));
    this.#count += count;
    this.#work += count;
  }

  /** Reads the point that stands here; false when its shape is unusual. */
  #isRead(): boolean {
    if (this.#count === maxPoints) throw unusual;
    try {
      this.#readPoint();
    } catch (error) {
      if (error !== unusual) throw error;
      return false;
    }
    this.#count++;
    return true;
  }

  *#readUnusual(start: number): Generator<void> {
    const json = new JsonPasser(this.json.bytes);
    json.goTo(start);
    try {
      const point = (yield* sentPoint(json)) as { readonly source_id?: unknown } | null;
      const bodySource = point?.source_id ? '' : this.#bodySource || this.#guessBodySource();
      const reader = new PointReader(json.bytes, this.context, this.#points, (this.#events ??= new EventCollector()), this.#named);
      reader.read(point, this.#count, bodySource);
      if (reader.flaws.any) throw unusual;
    } catch (error) {
      // The errors of a body are told by the slow parser, which reads all of it.
      throw error instanceof TelemetryError ? unusual : error;
    }
    this.#work += unusualWork + (json.at - start) / bytesOfWork;
    this.json.at = json.at;
    this.#count++;
  }

  #readPoint(): void {
    const start = this.json.at;
    this.#beginPoint();
    if (!this.#isLaidOutAsBefore()) {
      this.json.at = start;
      this.#beginPoint();
      this.#readPointFields();
    }
    this.#finishPoint();
  }

  #beginPoint(): void {
    this.#metric = undefined;
    this.#sourceId = '';
    this.#timestampMs = this.context.receivedMs;
    this.#tagNumber = 0;
    this.#isEvent = false;
    this.#valueEnd = 0;
  }

  /** Reads a point that is written as the one before but for its values; false where it is not. */
  #isLaidOutAsBefore(): boolean {
    const [json, layout] = [this.json, this.#layout];
    for (let at = 0; at < layout.fields; at++) {
      if (!json.repeats(layout.starts[at]!, layout.ends[at]!)) return false;
      this.#readPointField(layout.keys[at]!);
    }
    return layout.fields > 0 && !json.goesOn(closeBrace);
  }

  #readPointFields(): void {
    const [json, layout] = [this.json, this.#layout];
    layout.restart();
    let start = json.at;
    json.expect(openBrace);
    let [seen, fields] = [0, 0];
    do {
      if (++fields > maxFields) throw unusual;
      const key = this.#field();
      if (seen & key) throw unusual;
      seen |= key;
      layout.add(key, start, json.at);
      this.#readPointField(key);
      start = json.at;
    } while (json.goesOn(closeBrace));
  }

  #readPointField(key: number): void {
    switch (key) {
      case field.metric:
        this.#metric = this.json.name();
        break;
      case field.value:
        this.#readValue();
        break;
      case field.timestamp:
        this.#readTimestamp();
        break;
      case field.tags:
        if (!this.json.passedNull()) this.#readTags();
        break;
      case field.class:
        if (!this.json.passedNull()) this.#readClass();
        break;
      case field.source_id:
        if (this.#isSourceGiven) this.json.pass(pointDepth);
        else if (!this.json.passedNull()) this.#sourceId = this.#readSource();
        break;
      default:
        this.json.pass(pointDepth);
    }
  }

  #readTags(): void {
    const { at } = this.json;
    const tags = (this.#tags ??= new BodyTags());
    const { size } = tags;
    this.#tagNumber = tags.read(this.json);
    if (tags.size > size) this.#work += (this.json.at - at) / bytesOfWork;
  }

  #tagsAt(number: number): Tags {
    return this.#tags?.at(number) ?? noTags;
  }

  #readValue(): void {
    this.#isNumber = this.json.atNumber();
    this.#valueStart = this.json.at;
    if (this.#isNumber) {
      this.json.readNumber();
      this.#number = this.json.number;
    }
    // Whether the string is valid JSON is checked when it is stored.
    else if (this.json.bytes[this.#valueStart] === quote) this.json.skipString();
    else this.json.pass(pointDepth);
    this.#valueEnd = this.json.at;
    if (!this.#isNumber) this.#work += (this.#valueEnd - this.#valueStart) / bytesOfWork;
  }

  #readTimestamp(): void {
    const [json, layout] = [this.json, this.#layout];
    const { timeStart, timeLength } = layout;
    // Where more digits follow the text of the last time, the next check throws `unusual`, and the point is read the slow way.
    if (timeLength === 0 || !json.repeats(timeStart, timeStart + timeLength)) {
      if (json.passedNull()) return;
      const start = json.at;
      json.readNumber();
      const ms = pointTimeMs(json.number, this.context.receivedMs);
      if (ms > maxTimestampMs) throw unusual;
      layout.timeMs = ms;
      layout.timeStart = start;
      layout.timeLength = json.at - start;
    }
    this.#timestampMs = layout.timeMs;
  }

  #readClass(): void {
    const { text } = this.json.name();
    this.#isEvent = text === 'event';
    if (!this.#isEvent && text !== 'metric') throw unusual;
  }

  #readSource(): string {
    const name = this.json.name();
    if (!name.isSourceId) throw unusual;
    return name.text;
  }

  #finishPoint(): void {
    const metric = this.#metric;
    if (!metric?.isMetric || this.#valueEnd === 0) throw unusual;
    if (this.#sourceId === '') this.#sourceId = this.#bodySource || this.#guessBodySource();
    else this.#named.add(this.#sourceId);
    if (this.#isEvent) this.#addEvent(metric.text);
    else if (this.#isNumber) this.#points.add(this.#run(metric), this.#timestampMs, this.#number);
    else throw unusual;
  }

  #run(metric: Name): number {
    return this.#points.runOf(metric, this.#sourceId, this.#tagNumber, this.#tagsAt(this.#tagNumber));
  }

  #addEvent(metric: string): void {
    if (this.#valueEnd - this.#valueStart > maxValueBytes) throw unusual;
    const stored = this.#storedValue();
    if (typeof stored === 'string') throw unusual;
    const tags = this.#tagsAt(this.#tagNumber);
    this.#work += runWork;
    this.#events ??= new EventCollector();
    this.#events.add(this.#sourceId, { metric, timestampMs: this.#timestampMs, ...stored, tags, place: this.#count });
  }

  #storedValue(): ReturnType<typeof storedValue> {
    try {
      return storedValue(this.json.bytes, this.#valueStart, this.#valueEnd);
    } catch {
      throw unusual;
    }
  }

  /** Looks for the body's `source_id` near its end, because some client libraries write it behind the points. */
  #guessBodySource(): string {
    const { json } = this;
    const tail = json.text(Math.max(json.at, json.bytes.length - tailBytes), json.bytes.length);
    const guess = /"source_id"\s*:\s*"([^"\\]+)"[^"]*$/.exec(tail)?.[1];
    if (guess === undefined) throw unusual;
    this.#bodySource = guess;
    return guess;
  }

  #field(): number {
    const key = this.json.key();
    this.json.expect(colon);
    return key.field;
  }
}
