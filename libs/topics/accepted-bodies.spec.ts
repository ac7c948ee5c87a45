import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AnyTopic } from '#log';
import {
  cutEvents,
  cutPoints,
  atOnce,
  IngestParser,
  TelemetryError,
  type Accepted,
  type EventBatch,
  type PointBatch,
  type SeriesRun,
} from '#model';
import { nearlyRightBodies } from '#testing';
import { avroType } from './avro.js';
import { AvroCodec } from './codec.js';
import { schemaVersions } from './schema-files.js';
import { events, points } from './topics.js';

const context = { orgId: 'org_1', receivedMs: 1_750_000_000_000 };
const headBytes = 5;
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 200);

/** More fields than the scanner reads: with them the simple path reads the body. */
const unusual = Array.from({ length: 65 }, (_, at) => `"x${at}":0,`).join('');

/** How a body is sent so that each of the two parsers reads it. */
const ways: readonly ((body: string) => string)[] = [(body) => body, (body) => body.replace(/^\{(?=\s*")/, `{${unusual}`)];

/** Every number that JSON can say, most of them near something. */
const numbers = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][+-]?\d{1,3})?$/),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: 0, max: 0.002, noNaN: true }).map(String),
  fc
    .tuple(
      fc.constantFrom(0, 0.0005, 0.001, 1, 1e12, 1e14, 1e17, 253_402_300_799, 253_402_300_799_999, 2 ** 53),
      fc.constantFrom(0, Number.EPSILON, -Number.EPSILON, 1e-12, -1e-12),
    )
    .map(([edge, part]) => String(edge * (1 + part))),
  fc.constantFrom(
    '-0',
    '-0.0',
    '0e9',
    '5e-324',
    '1e-300',
    '-1e-300',
    '0.0004999',
    '0.0005',
    '1.7976931348623157e308',
    '-1.7976931348623157e308',
  ),
);

let codec: AvroCodec;
beforeAll(async () => {
  const texts: string[] = [];
  const registry = { register: async (_: string, schema: string) => texts.push(schema), schema: async (id: number) => texts[id - 1] };
  codec = await AvroCodec.open(registry, [points, events]);
});

/** What every reader finds in the log once the body is accepted; undefined when it is refused. */
function recordsOf(body: string): Accepted | undefined {
  let accepted: Accepted;
  try {
    accepted = atOnce(new IngestParser().parse(new TextEncoder().encode(body), context));
  } catch (error) {
    if (error instanceof TelemetryError && error.kind !== 'internal') return undefined;
    throw error;
  }
  for (const batch of accepted.points) {
    const decoded = cutPoints(batch).map((record) => read(points, record));
    expect(decoded.map(headOf)).toEqual(decoded.map(() => headOf(batch)));
    expect(pointsOf(decoded.flatMap(({ series }) => series))).toEqual(pointsOf(batch.series));
  }
  for (const batch of accepted.events) {
    const decoded = cutEvents(batch).map((record) => read(events, record));
    expect(decoded.map(headOf)).toEqual(decoded.map(() => headOf(batch)));
    expect(decoded.flatMap((record) => record.events)).toEqual(batch.events);
  }
  return accepted;
}

const headOf = ({ orgId, sourceId, receivedMs }: PointBatch | EventBatch): unknown => [orgId, sourceId, receivedMs];
const pointsOf = (series: readonly SeriesRun[]): unknown =>
  series.flatMap(({ metric, tags, timestampMs, value }) => Array.from(timestampMs, (ms, at) => [metric, tags, ms, value[at]]));

/** A record as it comes out of the log, read by the coder and by avsc, which must agree. */
function read<V extends PointBatch | EventBatch>(topic: AnyTopic, record: V): V {
  const key = topic.key(record);
  const bytes = codec.encode(topic, record);
  const decoded = codec.decode(topic, key, bytes) as V;
  const type = avroType(schemaVersions(topic.schema).at(-1)!);
  expect(type.fromBuffer(bytes.subarray(headBytes))).toEqual(decoded);
  expect(type.toBuffer(decoded).equals(bytes.subarray(headBytes))).toBe(true);
  return decoded;
}

describe('every record of a body that is accepted decodes to what was accepted', () => {
  it.each(ways.entries().toArray())('whatever numbers stand in it, way %i', (_, way) => {
    let taken = 0;
    const one = fc.tuple(numbers, numbers, numbers, fc.constantFrom('', ',"class":"event"'));
    fc.assert(
      fc.property(one, ([timestamp, value, nested, kind]) => {
        const point = `{"metric":"m","timestamp":${timestamp},"value":${kind ? `{"a":[${nested},null,${value}]}` : value}${kind}}`;
        if (recordsOf(way(`{"source_id":"s","points":[${point},{"metric":"m","value":1}]}`))) taken++;
      }),
      { numRuns },
    );
    expect(taken).toBeGreaterThan(numRuns / 4);
  });

  it.each(ways.entries().toArray())('whatever else stands in it, way %i', (_, way) => {
    let taken = 0;
    fc.assert(
      fc.property(nearlyRightBodies, (body) => {
        if (recordsOf(way(body))) taken++;
      }),
      { numRuns },
    );
    expect(taken).toBeGreaterThan(numRuns / 20);
  });

  const ten = (pointAt: (at: number) => string): string =>
    `{"source_id":"${'s'.repeat(256)}","points":[${Array.from({ length: 10_000 }, (_, at) => pointAt(at)).join(',')}]}`;
  const longest = 'é'.repeat(128);
  it.each([
    ['of one metric', ten((at) => `{"metric":"m","value":${at},"timestamp":${1_700_000_000_000 + at}}`)],
    ['of as many metrics, with long names', ten((at) => `{"metric":"${at}${'é'.repeat(120)}","value":-0}`)],
    [
      'that change their tags each time',
      ten((at) => `{"metric":"m","value":${at},"tags":{"k":"${at % 2 ? 'a' : longest}","__proto__":"\\ud800"}}`),
    ],
    ['that are events', ten((at) => `{"metric":"e","class":"event","value":{"a":"${'x'.repeat(at % 400)}","b":[null,${at}]}}`)],
    ['that are equal events', ten(() => `{"metric":"e","class":"event","value":"\\ud83d\\ude00\\u0000","timestamp":1e-300}`)],
  ])('10,000 points %s', (_, body) => {
    for (const way of ways) expect(recordsOf(way(body))?.count).toBe(10_000);
  });

  it.each(['0.0004', '0.0004999', '1e-300', '5e-324', '0', '-0', '-1e300', 'null'])('the time %s is the receive time', (timestamp) => {
    const body = `{"source_id":"s","points":[{"metric":"m","value":1,"timestamp":${timestamp}},{"metric":"e","class":"event","value":1,"timestamp":${timestamp}}]}`;
    for (const way of ways) {
      const accepted = recordsOf(way(body))!;
      expect([accepted.points[0]!.series[0]!.timestampMs[0], accepted.events[0]!.events[0]!.timestampMs]).toEqual([
        context.receivedMs,
        context.receivedMs,
      ]);
    }
  });
});
