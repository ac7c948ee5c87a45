import type { DeviceEvent, EventBatch, PointBatch, SeriesRun } from '#model';
import { AvroReader } from './avro-reader.js';
import type { AvroWriter } from './avro-writer.js';
import type { BodyCoder } from './body-coder.js';

/** `point-batch.v1.avsc` by hand. */
const pointBatchV1: BodyCoder<PointBatch> = {
  write({ orgId, sourceId, receivedMs, series }, to) {
    to.string(orgId);
    to.string(sourceId);
    to.long(receivedMs);
    to.array(series, writeRun);
  },
  read: (body) =>
    whole(body, (from) => ({
      orgId: from.string(),
      sourceId: from.string(),
      receivedMs: from.long(),
      series: from.array(4, () => readRun(from)),
    })),
};

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

/** `event-batch.v1.avsc` by hand. */
const eventBatchV1: BodyCoder<EventBatch> = {
  write({ orgId, sourceId, receivedMs, origin, events }, to) {
    to.string(orgId);
    to.string(sourceId);
    to.long(receivedMs);
    to.enumOf(origins, origin);
    to.array(events, writeEvent);
  },
  read: (body) =>
    whole(body, (from) => ({
      orgId: from.string(),
      sourceId: from.string(),
      receivedMs: from.long(),
      origin: from.enumOf(origins),
      events: from.array(7, () => readEvent(from)),
    })),
};

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

/** Reads a body to its last byte. */
function whole<V>(body: Buffer, read: (from: AvroReader) => V): V {
  const from = new AvroReader(body);
  const value = read(from);
  from.end();
  return value;
}

/** Coders of the hot paths, written by hand for one version each. A newer version uses the general coder until it has its own here. */
export const batchCoders: Readonly<Record<string, BodyCoder<unknown>>> = {
  'point-batch.v1': pointBatchV1,
  'event-batch.v1': eventBatchV1,
};
