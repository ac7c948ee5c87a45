import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Accepted } from './accepted.js';
import { TelemetryError } from './errors.js';
import { atOnce, IngestParser } from './ingest.js';
import { mutated, mutations, nearlyRightBodies } from '#testing';

const parser = new IngestParser();
const context = { orgId: 'o', receivedMs: 1_750_000_000_000 };
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Everything that can be seen of an outcome, numbers bit by bit. */
function outcome(read: () => Accepted): string {
  try {
    const { points, events, ...rest } = read();
    const runs = points.map(({ series, ...batch }) => ({
      ...batch,
      series: series.map(({ metric, tags, timestampMs, value }) => [metric, tags, hex(timestampMs), hex(value)]),
    }));
    return JSON.stringify({ ...rest, runs, events }, (_, value) => (Object.is(value, -0) ? '-0' : value), 1);
  } catch (error) {
    if (!(error instanceof TelemetryError)) throw error;
    return JSON.stringify({ code: error.code, detail: error.message, flaws: error.flaws }, null, 1);
  }
}

const hex = (column: Float64Array): string => Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString('hex');
/** Of a parser that has read nothing before. */
const bySimple = (bytes: Uint8Array): string => outcome(() => atOnce(new IngestParser().parseAny(bytes, context)));
const byEither = (bytes: Uint8Array): string => outcome(() => atOnce(parser.parse(bytes, context)));

const timeTexts = ['1', '11', '1.5', '1e1', '1700000000000', '1700000000001', '17000000000000', '1700000000000.0', 'null'];

/** Points that differ from each other in little: in a name, a tag, a source, a time, or in how they are written. */
const similarPoints = fc
  .record({
    metric: fc.constantFrom('"a"', '"b"', '"ab"', '"\\u0061"'),
    value: fc.constantFrom('0', '-0', '1', '12.75', '"x"'),
    timestamp: fc.option(fc.constantFrom(...timeTexts), { nil: undefined }),
    tags: fc.option(fc.constantFrom('{}', '{"t":"1"}', '{"t":"2"}'), { nil: undefined }),
    source_id: fc.option(fc.constantFrom('"s"', '"t"'), { nil: undefined }),
    isTurned: fc.boolean(),
    blank: fc.constantFrom('', '', '', ' '),
  })
  .map(({ isTurned, blank, ...fields }) => {
    const written = Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [`"${name}":${blank}${text}`]));
    return `{${(isTurned ? written.toReversed() : written).join()}}`;
  });

/** Bodies of them, each point up to three times in a row. */
const similarBodies = fc
  .array(fc.tuple(similarPoints, fc.integer({ min: 1, max: 3 })), { maxLength: 8 })
  .map((points) => `{"source_id":"s","points":[${points.flatMap(([point, times]) => Array.from({ length: times }, () => point)).join()}]}`);

/** More by hand: FUZZ_RUNS=1000000. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 1000);

describe('the scanner', () => {
  it('says what the simple path says of bodies that are nearly right', () => {
    fc.assert(
      fc.property(nearlyRightBodies, (text) => expect(byEither(bytesOf(text))).toBe(bySimple(bytesOf(text)))),
      { numRuns },
    );
  });

  it('says what the simple path says of bodies with broken bytes', () => {
    fc.assert(
      fc.property(nearlyRightBodies, fc.array(mutations, { minLength: 1, maxLength: 3 }), (text, changes) => {
        const bytes = mutated(bytesOf(text), changes);
        expect(byEither(bytes)).toBe(bySimple(bytes));
      }),
      { numRuns },
    );
  });

  it('says what the simple path says of bodies and points that are much like the ones before', () => {
    fc.assert(
      fc.property(similarBodies, (text) => expect(byEither(bytesOf(text))).toBe(bySimple(bytesOf(text)))),
      { numRuns },
    );
  });

  it('says what the simple path says of runs behind those that it remembers of the body before', () => {
    const points = Array.from({ length: 600 }, (_, at) => `{"metric":"m${at}","value":${at}}`);
    const turned = [...points.slice(0, 300), ...points.slice(300).toReversed(), ...points];
    for (const some of [points, points, turned, points.slice(0, 200), turned]) {
      const bytes = bytesOf(`{"source_id":"s","points":[${some.join()}]}`);
      expect(byEither(bytes)).toBe(bySimple(bytes));
    }
  });

  it('says what the simple path says of metrics whose names it forgot and learned again', () => {
    const point = (metric: string, tag: number, more = ''): string => `{"metric":"${metric}","value":1,"tags":{"t":"${tag}"}${more}}`;
    const pairs = Array.from({ length: 300 }, (_, at) => at);
    const inPairs = pairs.flatMap((at) => [point(`x${at}`, 1), point(`a${at}`, 1)]);
    const manyNames = point('y', 1, Array.from({ length: 3000 }, (_, at) => `,"k${at}":0`).join(''));
    const otherTags = pairs.toReversed().map((at) => point(`a${at}`, 2));
    const bytes = bytesOf(`{"source_id":"s","points":[${[...inPairs, manyNames, ...otherTags, ...inPairs].join()}]}`);
    expect(byEither(bytes)).toBe(bySimple(bytes));
  });

  it.each([
    '{"points":[{"metric":"m","value":1}],"x":{"source_id":"t"}}',
    '{"points":[{"metric":"m","value":1}],"source_id":"s","x":{"source_id":"t"}}',
    '{"points":[{"metric":"m","value":1}],"source_id":"s","source_id":"t"}',
    '{"source_id":"s","points":[{"metric":"m","value":1}],"source_id":"t"}',
    '{"points":[{"metric":"m","value":1},{"metric":"m","value":1,"source_id":"t"}]}',
    '{"points":[{"metric":"m","value":1}],"source_id":"a b"}',
    '{"points":[{"metric":"m","value":1}],"source_id":null}',
    '{"points":[{"metric":"m","value":1}]}',
  ])('says what the simple path says of a source that is not the one it seems: %s', (text) => {
    expect(byEither(bytesOf(text))).toBe(bySimple(bytesOf(text)));
  });

  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

  it.each([
    [63, `{"source_id":"s","points":[],"x":${nested(62)}}`],
    [64, `{"source_id":"s","points":[],"x":${nested(63)}}`],
    [65, `{"source_id":"s","points":[],"x":${nested(64)}}`],
    [64, `{"source_id":"s","points":[{"metric":"m","value":1,"x":${nested(61)}}]}`],
    [65, `{"source_id":"s","points":[{"metric":"m","value":1,"x":${nested(62)}}]}`],
    [64, `{"source_id":"s","points":[{"metric":"m","class":"event","value":${nested(61)}}]}`],
    [65, `{"source_id":"s","points":[{"metric":"m","class":"event","value":${nested(62)}}]}`],
    [65, `{"source_id":"s","points":[{"metric":"m","value":1,"tags":{"a":${nested(61)}}}]}`],
  ])('says what the simple path says of %i levels: %s', (_, text) => {
    expect(byEither(bytesOf(text))).toBe(bySimple(bytesOf(text)));
  });

  it.each([
    ['the shortest body', '{"source_id":"s","points":[]}'],
    ['metrics', '{"source_id":"s","points":[{"metric":"m","value":1.25,"timestamp":1700000000000},{"metric":"m","value":-3e2}]}'],
    ['white space', '{ "source_id" : "s" ,\n\t"points" : [ { "metric" : "m" , "value" : 1 } , { "metric" : "m" , "value" : 1 } ] }\r\n'],
    ['the source behind the points', '{"points":[{"value":1,"metric":"m"}],"source_id":"s"}'],
    ['sources of the points', '{"points":[{"value":1,"metric":"m","source_id":"a"},{"value":1,"metric":"m","source_id":"b"}]}'],
    ['tags', '{"source_id":"s","points":[{"metric":"m","value":1,"tags":{"a":"\\n"}},{"metric":"m","value":1,"tags":{"a":"\\n"}}]}'],
    ['events', '{"source_id":"s","points":[{"metric":"e","value":{"a":[1]},"class":"event"},{"metric":"e","value":"x","class":"event"}]}'],
    ['nulls', '{"source_id":"s","points":[{"metric":"m","value":1,"class":null,"tags":null,"timestamp":null,"source_id":null}]}'],
    ['unknown fields', '{"type":"telemetry","source_id":"s","points":[{"metric":"m","value":1,"unit":"°C","x":{"y":[]}}],"seq":7}'],
    ['names in Unicode', '{"source_id":"s","points":[{"metric":"Füllstand 😀","value":1}]}'],
    [
      'a name with an escape between others',
      '{"source_id":"s","points":[{"metric":"m","value":1},{"metric":"\\u0065","value":1},{"metric":"m","value":2}]}',
    ],
    ['a field that comes again', '{"source_id":"s","points":[{"metric":"m","metric":"n","source_id":"a","source_id":"b","value":1}]}'],
    ['a tag that comes again', `{"points":[{"metric":"m","value":1,"tags":{${'"a":"b",'.repeat(3000)}"a":"c"}}],"source_id":"s"}`],
    [
      'a time that begins like the one before',
      `{"source_id":"s","points":[${timeTexts.flatMap((time) => [`{"timestamp":${time},"metric":"m","value":1}`, `{"metric":"m","value":1,"timestamp":${time}}`]).join()}]}`,
    ],
    ['all digits of a double', '{"source_id":"s","points":[{"metric":"m","value":0.30000000000000004}]}'],
  ])('itself reads %s', (_, text) => {
    expect(atOnce(parser.scan(bytesOf(text), context))).toBeDefined();
    expect(byEither(bytesOf(text))).toBe(bySimple(bytesOf(text)));
  });

  const fill = (item: string): string => Array.from({ length: Math.floor(5e6 / (item.length + 1)) }, () => item).join();
  it.each([
    ['plain points', 1, 1, `{"metric":"m","value":1,"x":1}`, 10_000],
    ['a field that comes again', 20, 50, `{${fill('"metric":"m"')},"value":1}`, 1],
    ['a tag that comes again', 20, 150, `{"metric":"m","value":1,"tags":{${fill('"a":"b"')}}}`, 1],
    ['a field that nobody knows', 20, 50, `{"metric":"m","value":1,"x":[${fill('{}')}]}`, 1],
    ['points with an escape', 10, 50, `{"metric":"\\u0065","value":1,"tags":{"a":"${'b'.repeat(200)}"}}`, 10_000],
  ])('takes for %s at least %i and at most %i steps', (_, least, most, point, count) => {
    const work = parser.parse(bytesOf(`{"source_id":"s","points":[${Array.from({ length: count }, () => point).join()}]}`), context);
    let steps = 1;
    while (!work.next().done) steps++;
    expect(steps).toBeGreaterThanOrEqual(least);
    expect(steps).toBeLessThanOrEqual(most);
  });
});
