import { describe, expect, it } from '@jest/globals';
import type { Type } from 'avsc';
import * as fc from 'fast-check';
import { tagsOfPairs, type DeviceEvent, type EventBatch, type PointBatch, type SeriesRun, type Tags } from '#model';
import { AvroWriter } from './avro-writer.js';
import { avroType } from './avro.js';
import { batchCoders, olderReaders } from './batch-coders.js';
import type { BodyCoder } from './body-coder.js';
import { schemaVersions } from './schema-files.js';

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'grapheme-ascii', maxLength: 80 }));
const key = fc.oneof({ weight: 20, arbitrary: text }, fc.constantFrom('__proto__', 'constructor'));
/** Of negative numbers beyond this one avsc loses the last bit. */
const leastOfAvsc = -(2 ** 52);
const long = fc.oneof(fc.integer(), fc.integer({ min: 0, max: 253_402_300_799_999 }), fc.integer({ min: leastOfAvsc, max: 2 ** 52 }));

const tags: fc.Arbitrary<Tags> = fc.uniqueArray(fc.tuple(key, text), { maxLength: 3, selector: ([name]) => name }).map(tagsOfPairs);
const run: fc.Arbitrary<SeriesRun> = fc
  .record({ metric: text, tags, points: fc.array(fc.tuple(long, fc.double()), { maxLength: 40 }) })
  .map(({ points, ...rest }) => ({
    ...rest,
    timestampMs: Float64Array.from(points, ([timestampMs]) => timestampMs),
    value: Float64Array.from(points, ([, value]) => value),
  }));
/** Some have the columns of the run before. */
const runs = fc.array(fc.tuple(run, fc.boolean()), { maxLength: 4 }).map((all) => {
  const series: SeriesRun[] = [];
  for (const [one, isSharing] of all) {
    const { timestampMs, value } = (isSharing && series.at(-1)) || one;
    series.push({ ...one, timestampMs, value });
  }
  return series;
});
const deleted = fc.option(fc.record({ metric: fc.option(text) }));
const pointBatch: fc.Arbitrary<PointBatch> = fc.record({
  orgId: text,
  sourceId: text,
  receivedMs: long,
  series: runs,
  deleted,
});

const event: fc.Arbitrary<DeviceEvent> = fc.record({
  metric: text,
  timestampMs: long,
  value: fc.oneof(text, fc.string({ minLength: 4000, maxLength: 4096 })),
  isJson: fc.boolean(),
  tags,
  place: fc.nat(),
  ordinal: fc.nat(),
});
const eventBatch: fc.Arbitrary<EventBatch> = fc.record({
  orgId: text,
  sourceId: text,
  receivedMs: long,
  origin: fc.constantFrom('source', 'service'),
  events: fc.array(event, { maxLength: 4 }),
  deleted,
});

const writer = new AvroWriter();
const refused = Symbol('refused');
const mutation = fc.record({ at: fc.nat(), byte: fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xfe, 0xff), cut: fc.boolean() });

const longsOf = (batch: PointBatch | EventBatch): readonly number[] => [
  batch.receivedMs,
  ...('series' in batch
    ? batch.series.flatMap(({ timestampMs }) => [...timestampMs])
    : batch.events.flatMap(({ timestampMs, place, ordinal }) => [timestampMs, place, ordinal])),
];

describe.each([
  ['point-batch', pointBatch],
  ['event-batch', eventBatch],
] as [string, fc.Arbitrary<PointBatch | EventBatch>][])('the coder of %s', (schema, batch) => {
  const versions = schemaVersions(schema);
  const type: Type = avroType(versions.at(-1)!);
  const coder = batchCoders[`${schema}.v${versions.length}`]!;

  it('writes the bytes that avsc writes', () => {
    fc.assert(fc.property(batch, (value) => expect(encode(coder, value)).toEqual(type.toBuffer(value))));
  });

  it('reads what avsc reads', () => {
    fc.assert(
      fc.property(batch, (value) => {
        const bytes = type.toBuffer(value);
        expect(coder.read(bytes)).toEqual(type.fromBuffer(bytes));
      }),
    );
  });

  it('reads an older version as avsc does', () => {
    expect(versions.length).toBeGreaterThan(1);
    for (const [at, version] of versions.slice(0, -1).entries()) {
      const older = avroType(version);
      const resolver = type.createResolver(older);
      fc.assert(
        fc.property(batch, (value) => {
          const bytes = older.toBuffer(value);
          expect(olderReaders[`${schema}.v${at + 1}`]!(bytes)).toEqual(type.fromBuffer(bytes, resolver));
        }),
      );
    }
  });

  it('of broken bytes reads what avsc reads, or throws', () => {
    fc.assert(
      fc.property(batch, mutation, (value, { at, byte, cut }) => {
        const bytes = type.toBuffer(value);
        bytes[at % bytes.length] = byte;
        const broken = cut ? bytes.subarray(0, at % bytes.length) : bytes;
        const read = readOrRefuse(coder, broken);
        fc.pre(read === refused || longsOf(read as PointBatch | EventBatch).every((its) => its >= leastOfAvsc));
        expect(read).toEqual(read === refused ? refused : type.fromBuffer(broken));
      }),
      { numRuns: 1000 },
    );
  });

  it('throws on every record that ends too early, and on one that goes on', () => {
    const [value] = fc.sample(batch, { numRuns: 1, seed: 7 });
    const bytes = encode(coder, value!);
    for (let length = 0; length < bytes.length; length++) expect(() => coder.read(bytes.subarray(0, length))).toThrow('the record');
    expect(() => coder.read(Buffer.concat([bytes, Buffer.of(0)]))).toThrow('the record');
  });
});

const points = batchCoders['point-batch.v2']! as BodyCoder<PointBatch>;
const events = batchCoders['event-batch.v2']! as BodyCoder<EventBatch>;
const aRun: SeriesRun = { metric: 'm', tags: '', timestampMs: Float64Array.of(1), value: Float64Array.of(2) };
const aBatch: PointBatch = { orgId: 'o', sourceId: 's', receivedMs: 3, series: [aRun], deleted: null };
const anEvent: DeviceEvent = { metric: 'e', timestampMs: 1, value: 'v', isJson: true, tags: '', place: 4, ordinal: 5 };
const anEventBatch: EventBatch = { orgId: 'o', sourceId: 's', receivedMs: 3, origin: 'service', events: [anEvent], deleted: null };

describe('times', () => {
  it('that the record before had too are written again', () => {
    const others = { ...aBatch, orgId: 'another'.repeat(20) };
    expect([aBatch, others, aBatch].map((one) => points.read(encode(points, one)))).toEqual([aBatch, others, aBatch]);
  });
});

describe('a tag', () => {
  it('may have any key', () => {
    const written = '[["__proto__","p"],["constructor","c"]]';
    const read = points.read(encode(points, { ...aBatch, series: [{ ...aRun, tags: written }] }));
    expect(read.series[0]!.tags).toBe(written);
  });
});

describe('a long', () => {
  it.each([
    0,
    -1,
    1,
    63,
    64,
    -64,
    -65,
    2 ** 27 - 1,
    2 ** 27,
    2 ** 31,
    -(2 ** 31) - 1,
    2 ** 34 - 1,
    2 ** 34,
    2 ** 52 + 1,
    -(2 ** 52) - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
  ])('%i comes back', (receivedMs) => {
    expect(points.read(encode(points, { ...aBatch, receivedMs })).receivedMs).toBe(receivedMs);
  });

  it.each([0.5, NaN, Infinity, 2 ** 53])('%d is refused', (receivedMs) => {
    expect(() => encode(points, { ...aBatch, receivedMs })).toThrow(RangeError);
    expect(() => encode(points, { ...aBatch, series: [{ ...aRun, timestampMs: Float64Array.of(receivedMs) }] })).toThrow(RangeError);
  });
});

describe('a column', () => {
  it('may come in many blocks, with or without their size', () => {
    const head = encode(points, { ...aBatch, series: [] }).subarray(0, -2);
    const times = [2, 2, 4, 1, 2, 6, 0];
    const values = [4, ...new Uint8Array(16), 2, ...new Uint8Array(8), 0];
    const bytes = Buffer.from([...head, 2, 2, 0x6d, 0, ...times, ...values, 0, 0]);
    expect(() => points.read(bytes)).toThrow('differ in length');
    const two = Buffer.from([...head, 2, 2, 0x6d, 0, 2, 2, 1, 2, 4, 0, ...values.slice(0, 17), 0, 0, 0]);
    expect([...points.read(two).series[0]!.timestampMs]).toEqual([1, 2]);
  });

  it('is refused when its twin has another length', () => {
    expect(() => encode(points, { ...aBatch, series: [{ ...aRun, value: new Float64Array(2) }] })).toThrow('differ in length');
  });

  it('of a hundred thousand blocks is read in one go', () => {
    const head = encode(points, { ...aBatch, series: [] }).subarray(0, -2);
    const blocks = Buffer.alloc(200_000, 2);
    expect(() => points.read(Buffer.concat([head, Buffer.of(2, 2, 0x6d, 0), blocks, Buffer.of(0, 0, 0, 0)]))).toThrow('differ in length');
  });
});

describe('bytes that announce what they do not hold are refused before it is made', () => {
  const huge = Buffer.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40);
  const negativeHuge = Buffer.of(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40);
  const start = encode(points, { ...aBatch, series: [] }).subarray(0, -2);
  const at = {
    'an org id': Buffer.alloc(0),
    'an array of runs': start,
    'a metric': Buffer.from([...start, 2]),
    'a map of tags': Buffer.from([...start, 2, 2, 0x6d]),
    'a column of times': Buffer.from([...start, 2, 2, 0x6d, 0]),
    'a column of values': Buffer.from([...start, 2, 2, 0x6d, 0, 0]),
  };

  it.each(Object.entries(at))('%s', (_, before) => {
    const buffers = process.memoryUsage().arrayBuffers;
    for (const count of [huge, negativeHuge]) {
      expect(() => points.read(Buffer.concat([before, count, Buffer.alloc(16)]))).toThrow('the record ends within');
    }
    expect(process.memoryUsage().arrayBuffers - buffers).toBeLessThan(1024 * 1024);
  });

  it('a number that never ends', () => {
    expect(() => points.read(Buffer.alloc(1000, 0xff))).toThrow('a number');
  });
});

describe('an event', () => {
  it('comes back', () => {
    expect(events.read(encode(events, anEventBatch))).toEqual(anEventBatch);
  });

  it('has one of two origins', () => {
    expect(() => encode(events, { ...anEventBatch, origin: 'device' as 'source' })).toThrow(RangeError);
  });
});

function encode<V>(coder: BodyCoder<V>, value: V): Buffer {
  writer.restart(0);
  coder.write(value, writer);
  return Buffer.from(writer.written());
}

/** What the coder reads; `refused` when it says what is wrong with the bytes. */
function readOrRefuse(coder: BodyCoder<unknown>, bytes: Buffer): unknown {
  try {
    return coder.read(bytes);
  } catch (error) {
    if (/^the (record|columns) /.test((error as Error).message)) return refused;
    throw error;
  }
}
