import { ColumnRoom, type Deletion, type DeviceEvent, type EventBatch, type PointBatch, type SeriesRun } from '#model';
import { AvroReader } from './avro-reader.js';
import type { AvroWriter } from './avro-writer.js';
import type { BodyCoder } from './body-coder.js';

/** `point-batch.v2.avsc` by hand. */
const pointBatch: BodyCoder<PointBatch> = {
  write({ orgId, sourceId, receivedMs, series, deleted }, to) {
    to.string(orgId);
    to.string(sourceId);
    to.long(receivedMs);
    to.array(series, writeRun);
    to.optional(deleted, writeDeletion);
  },
  read: (body) => whole(body, (from) => readPoints(from, readDeletion)),
};

const readPoints = (from: AvroReader, deleted: ReadDeletion): PointBatch => ({
  orgId: from.string(),
  sourceId: from.string(),
  receivedMs: from.long(),
  series: from.array(4, () => readRun(from)),
  deleted: deleted(from),
});

function writeRun({ metric, tags, timestampMs, value }: SeriesRun, to: AvroWriter): void {
  if (timestampMs.length !== value.length) throw new Error('the columns of a run differ in length');
  to.string(metric);
  to.tags(tags);
  to.longs(timestampMs);
  to.doubles(value);
}

function readRun(from: AvroReader): SeriesRun {
  const run = { metric: from.string(), tags: from.tags(), timestampMs: from.longs(), value: from.doubles() };
  if (run.timestampMs.length !== run.value.length) throw new Error('the columns of a run differ in length');
  return run;
}

const origins = ['source', 'service'] as const;

/** `event-batch.v2.avsc` by hand. */
const eventBatch: BodyCoder<EventBatch> = {
  write({ orgId, sourceId, receivedMs, origin, events, deleted }, to) {
    to.string(orgId);
    to.string(sourceId);
    to.long(receivedMs);
    to.enumOf(origins, origin);
    to.array(events, writeEvent);
    to.optional(deleted, writeDeletion);
  },
  read: (body) => whole(body, (from) => readEvents(from, readDeletion)),
};

const readEvents = (from: AvroReader, deleted: ReadDeletion): EventBatch => ({
  orgId: from.string(),
  sourceId: from.string(),
  receivedMs: from.long(),
  origin: from.enumOf(origins),
  events: from.array(7, () => readEvent(from)),
  deleted: deleted(from),
});

function writeEvent({ metric, timestampMs, value, isJson, tags, place, ordinal }: DeviceEvent, to: AvroWriter): void {
  to.string(metric);
  to.long(timestampMs);
  to.string(value);
  to.boolean(isJson);
  to.tags(tags);
  to.long(place);
  to.long(ordinal);
}

function readEvent(from: AvroReader): DeviceEvent {
  return {
    metric: from.string(),
    timestampMs: from.long(),
    value: from.string(),
    isJson: from.boolean(),
    tags: from.tags(),
    place: from.int(),
    ordinal: from.int(),
  };
}

function writeDeletion({ metric }: Deletion, to: AvroWriter): void {
  to.optional(metric, writeString);
}

const writeString = (text: string, to: AvroWriter): void => to.string(text);

type ReadDeletion = (from: AvroReader) => Deletion | null;

/** Before version 2. */
const nothingDeleted: ReadDeletion = () => null;

function readDeletion(from: AvroReader): Deletion | null {
  return from.optional(() => ({ metric: from.optional(() => from.string()) }));
}

const room = new ColumnRoom();

/** Reads a body to its last byte. */
function whole<V>(body: Buffer, read: (from: AvroReader) => V): V {
  const from = new AvroReader(body, room);
  const value = read(from);
  from.end();
  return value;
}

/** The newest coder of each record of the hot paths, by the version that it is for. A newer version uses the general coder until it has its own here. */
export const batchCoders: Readonly<Record<string, BodyCoder<unknown>>> = {
  'point-batch.v2': pointBatch,
  'event-batch.v2': eventBatch,
};

/** How the bodies of older versions are read as quickly: a log that is read again has many. */
export const olderReaders: Readonly<Record<string, BodyCoder<unknown>['read']>> = {
  'point-batch.v1': (body) => whole(body, (from) => readPoints(from, nothingDeleted)),
  'event-batch.v1': (body) => whole(body, (from) => readEvents(from, nothingDeleted)),
};
