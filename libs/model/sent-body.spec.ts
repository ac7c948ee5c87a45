import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { mutated, mutations, nearlyRightBodies } from '#testing';
import { TelemetryError } from './errors.js';
import { acceptBody } from './ingest-body.js';
import type { Accepted } from './accepted.js';
import { atOnce, IngestParser } from './ingest.js';
import { parseJson } from './json.js';
import { PointMemory } from './point-collector.js';
import { sentBody, type SentBody } from './sent-body.js';

const parser = new IngestParser();
const context = { orgId: 'o', receivedMs: 1_750_000_000_000 };

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TelemetryError)) throw error;
    return { code: error.code, detail: error.message, flaws: error.flaws };
  }
}

/** An answer that does not depend on how a value is written. */
function meant({ events, ...rest }: Accepted): unknown {
  const entries = events.map((batch) => ({
    ...batch,
    events: batch.events.map((event) => ({
      ...event,
      ordinal: 0,
      value: event.isJson ? written(JSON.parse(event.value)) : event.value,
    })),
  }));
  return { ...rest, entries };
}

const written = (value: unknown): string => (Object.is(value, -0) ? '-0' : JSON.stringify(value));

/** As the body was parsed whole, with its values written anew. */
function acceptWhole(bytes: Uint8Array): Accepted {
  let values = '';
  const spanned = (point: unknown): unknown => {
    if (typeof point !== 'object' || point === null || Array.isArray(point) || !Object.hasOwn(point, 'value')) return point;
    const start = Buffer.byteLength(values);
    values += written((point as { value: unknown }).value);
    return { ...point, value: [start, Buffer.byteLength(values)] };
  };
  const json = parseJson(bytes);
  let body: SentBody | undefined;
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    const { source_id: sourceId, points } = json as { source_id?: unknown; points?: unknown };
    const spannedPoints = Array.isArray(points) ? points.map(spanned) : undefined;
    body = {
      sourceId,
      points: spannedPoints?.length,
      *point(place) {
        yield;
        return spannedPoints![place];
      },
    };
  }
  return atOnce(acceptBody(body, Buffer.from(values), context, new PointMemory()));
}

const ofAll = (bytes: Uint8Array): unknown => outcome(() => meant(acceptWhole(bytes)));
const ofPruned = (bytes: Uint8Array): unknown => outcome(() => meant(atOnce(parser.parseAny(bytes, context))));
const count = (n: number): number[] => Array.from({ length: n }, (_, at) => at);
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 2000);

describe('what is left of a body says what the whole of it says', () => {
  it('of bodies that are nearly right', () => {
    fc.assert(
      fc.property(nearlyRightBodies, (text) => expect(ofPruned(Buffer.from(text))).toEqual(ofAll(Buffer.from(text)))),
      { numRuns },
    );
  });

  it('of bodies with broken bytes', () => {
    fc.assert(
      fc.property(nearlyRightBodies, fc.array(mutations, { minLength: 1, maxLength: 3 }), (text, changes) => {
        const bytes = mutated(Buffer.from(text), changes);
        expect(ofPruned(bytes)).toEqual(ofAll(bytes));
      }),
      { numRuns },
    );
  });

  it('of any JSON, whole and broken, as a field that nobody knows', () => {
    fc.assert(
      fc.property(fc.json(), fc.array(mutations, { maxLength: 2 }), (json, changes) => {
        const bytes = Buffer.concat([
          Buffer.from('{"source_id":"s","points":[],"x":'),
          mutated(Buffer.from(json || '0'), changes),
          Buffer.from('}'),
        ]);
        expect(ofPruned(bytes)).toEqual(ofAll(bytes));
      }),
      { numRuns },
    );
  });

  const body = (point: string): string => `{"source_id":"s","points":[{"metric":"m",${point}}]}`;
  it.each([
    ['no object', '[1,{}]'],
    ['a byte order mark', `\ufeff${body('"value":1')}`],
    ['points that are an object', '{"points":{"a":1}}'],
    ['a point that is an array', '{"source_id":"s","points":[[1,[2]]]}'],
    ['10,001 points', `{"points":[${count(10_001).join()}]}`],
    ['10,002 points, the last of them bad', `{"points":[${count(10_001).join()},x]}`],
    ['escaped fields', '{"source\\u005fid":"s","\\u0070oints":[{"metri\\u0063":"m","value":1}]}'],
    ['fields twice', body('"metric":"n","value":1,"value":2')],
    ['fields of other objects', body('"value":1,"points":1,"__proto__":1,"constructor":1,"toString":1')],
    [
      '16 tags',
      body(
        `"value":1,"tags":{${count(16)
          .map((n) => `"${n}":"v"`)
          .join()}}`,
      ),
    ],
    [
      '17 tags',
      body(
        `"value":1,"tags":{${count(17)
          .map((n) => `"${n}":"v"`)
          .join()}}`,
      ),
    ],
    [
      '17 tags and a bad one',
      body(
        `"value":1,"tags":{${count(17)
          .map((n) => `"${n}":"v"`)
          .join()},"x":1}`,
      ),
    ],
    ['one tag 40 times, also in escapes', body(`"value":1,"tags":{${'"a":"v","\\u0061":"w",'.repeat(20)}"b":"x"}`)],
    ['a tag that is an object', body('"value":1,"tags":{"a":{"b":[]}}')],
    ['tags that are none', body('"value":1,"tags":[1]')],
    ['an event of 4,096 bytes', body(`"class":"event","value":[${count(2047).fill(0).join()},10]`)],
    ['an event of 4,097 bytes', body(`"class":"event","value":[${count(2048).fill(0).join()}]`)],
    ['an event of 5,000 values', body(`"class":"event","value":[${count(5000).fill(0).join()}]`)],
    ['a metric of 5,000 values', body(`"value":[${count(5000).fill(0).join()}]`)],
    ['numbers beyond a double in what nobody knows', body('"value":1,"x":[1e999,-1e-999]')],
    ['nothing', ''],
    ['two values', '{"points":[]} 1'],
    ['an end too early', '{"points":['],
  ])('of %s', (_, text) => {
    expect(ofPruned(Buffer.from(text))).toEqual(ofAll(Buffer.from(text)));
  });
});

describe('of 5 MiB that no answer depends on little is made', () => {
  const manyTimes = (item: (n: number) => string): string => {
    const items: string[] = [];
    for (let length = 0; length < 5_000_000; length += items.at(-1)!.length + 1) items.push(item(items.length));
    return items.join();
  };
  const fields = (): string => manyTimes((n) => `"key${n}":"v"`);
  const point = (more: string): string => `{"source_id":"s","points":[{"metric":"m","value":1${more}}]}`;

  it.each([
    ['tags', () => point(`,"tags":{${fields()}}`), 'invalid_points'],
    ['one tag', () => point(`,"tags":{${manyTimes(() => '"a":"b"')}}`), undefined],
    ['fields of a point', () => point(`,${fields()}`), undefined],
    ['one field of a point', () => point(`,${manyTimes(() => '"value":[]')},"value":1`), undefined],
    ['fields of the body', () => `{${fields()},"source_id":"s","points":[]}`, undefined],
    ['points of the body', () => `{"source_id":"s",${manyTimes(() => '"points":[]')}}`, undefined],
    ['fields of an event', () => `{"source_id":"s","points":[{"metric":"m","class":"event","value":{${fields()}}}]}`, 'invalid_points'],
    ['values of what nobody knows', () => point(`,"x":[${manyTimes(() => '{}')}]`), undefined],
    ['points', () => `{"source_id":"s","points":[${manyTimes(() => '{}')}]}`, 'too_many_points'],
    ['members of a metric', () => `{"source_id":"s","points":[{"metric":{${fields()}},"value":1}]}`, 'invalid_points'],
  ])('%s', (_, text, code) => {
    const bytes = Buffer.from(text());
    const body = atOnce(sentBody(bytes))!;
    expect(JSON.stringify(body.points! > 0 ? atOnce(body.point(0)) : {}).length).toBeLessThan(1024);
    expect((outcome(() => atOnce(parser.parse(bytes, context))) as { code?: string }).code).toBe(code);
  });
});
