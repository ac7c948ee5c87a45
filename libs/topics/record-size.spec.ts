import { describe, expect, it } from '@jest/globals';
import { cutEvents, cutPoints, maxRecordBytes, tagsKey, type DeviceEvent, type EventBatch, type PointBatch, type SeriesRun } from '#model';
import { AvroWriter } from './avro-writer.js';
import { batchCoders } from './batch-coders.js';

const lastMs = 253_402_300_799_999;
const longest = '€'.repeat(85) + 'x';
const tags = tagsKey(Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`${at}${'€'.repeat(84)}`, longest])));
const head = { orgId: longest, sourceId: 'x'.repeat(256), receivedMs: lastMs };
const writer = new AvroWriter();

/** Size with the Confluent head before it. */
function recordBytes(schema: string, value: PointBatch | EventBatch): number {
  writer.restart(5);
  batchCoders[schema]!.write(value, writer);
  return writer.written().length;
}

const run = (points: number): SeriesRun => ({
  metric: longest,
  tags,
  timestampMs: new Float64Array(points).fill(lastMs),
  value: new Float64Array(points).fill(-0.1),
});

describe('a record stays below 256 KiB', () => {
  it.each([
    ['one run of very many points', [run(100_000)]],
    ['very many runs of one point', Array.from({ length: 2_000 }, () => run(1))],
    ['runs of all lengths', Array.from({ length: 300 }, (_, at) => run(at * 50))],
  ])('%s', (_, series) => {
    const sizes = cutPoints({ ...head, series }).map((batch) => recordBytes('point-batch.v2', batch));
    expect(Math.max(...sizes)).toBeLessThan(maxRecordBytes);
    expect(sizes.length).toBeGreaterThan(1);
  });

  it('events of the greatest size', () => {
    const event: DeviceEvent = {
      metric: longest,
      timestampMs: lastMs,
      value: '€'.repeat(1365),
      isJson: true,
      tags,
      place: 9999,
      ordinal: 9999,
    };
    const events = Array.from({ length: 500 }, () => event);
    const sizes = cutEvents({ ...head, origin: 'source', events }).map((batch) => recordBytes('event-batch.v2', batch));
    expect(Math.max(...sizes)).toBeLessThan(maxRecordBytes);
    expect(sizes.length).toBeGreaterThan(1);
  });
});
