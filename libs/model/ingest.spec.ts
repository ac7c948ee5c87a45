import { describe, expect, it } from '@jest/globals';
import { TelemetryError } from './errors.js';
import { flawCases } from './flaws.js';
import { atOnce, IngestParser } from './ingest.js';
import type { Accepted } from './accepted.js';
import { tagsOf } from './tags.js';

const parser = new IngestParser();
const receivedMs = 1_750_000_000_000;
const t = 1_700_000_000_000;

const parse = (json: string): Accepted => atOnce(parser.parse(new TextEncoder().encode(json), { orgId: 'o', receivedMs }));
const accept = (body: unknown): Accepted => parse(JSON.stringify(body));
const acceptPoints = (...points: unknown[]): Accepted => accept({ source_id: 's', points });
const acceptPoint = (point: object): Accepted => acceptPoints({ metric: 'm', value: 1, timestamp: t, ...point });
const acceptEvent = (point: object): Accepted => acceptPoint({ class: 'event', ...point });

function refusal(action: () => unknown): TelemetryError {
  try {
    action();
  } catch (error) {
    if (error instanceof TelemetryError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** The columns as a reader sees them: [source, metric, tags, times, values] of each run. */
function runs(accepted: Accepted): unknown[] {
  return accepted.points.flatMap(({ sourceId, series }) =>
    series.map(({ metric, tags, timestampMs, value }) => [sourceId, metric, { ...tagsOf(tags) }, [...timestampMs], [...value]]),
  );
}

describe('a body', () => {
  it.each([
    ['no points', { source_id: 's', points: [] }, 0, 's'],
    ['no points and no source', { points: [] }, 0, undefined],
    ['unknown keys', { source_id: 's', points: [], version: [1], __proto__: 1 }, 0, 's'],
    ['one source on a point', { points: [{ source_id: 'p', metric: 'm', value: 1 }] }, 1, 'p'],
    ['a null source beside that', { source_id: null, points: [{ source_id: 'p', metric: 'm', value: 1 }] }, 1, 'p'],
    ['the same source twice', { source_id: 'p', points: [{ source_id: 'p', metric: 'm', value: 1 }] }, 1, 'p'],
    ['two sources', { source_id: 's', points: [{ source_id: 'p', metric: 'm', value: 1 }] }, 1, undefined],
    [
      'points and events',
      {
        source_id: 's',
        points: [
          { metric: 'm', value: 1 },
          { metric: 'e', class: 'event', value: {} },
        ],
      },
      2,
      's',
    ],
  ])('with %s is accepted', (_, body, count, sourceId) => {
    expect(accept(body)).toMatchObject({ count, sourceId });
  });

  it.each([
    ['an array', '[]', 'invalid_body'],
    ['null', 'null', 'invalid_body'],
    ['a string', '"points"', 'invalid_body'],
    ['an object without points', '{"source_id":"s"}', 'invalid_body'],
    ['an object whose points are null', '{"source_id":"s","points":null}', 'invalid_body'],
    ['an object whose points are an object', '{"source_id":"s","points":{}}', 'invalid_body'],
    ['an object that only its prototype would give points', '{"source_id":"s","__proto__":{"points":[]}}', 'invalid_body'],
    ['not JSON', '{"points":[}', 'invalid_json'],
    ['10,001 points', `{"points":[${'0,'.repeat(10_000)}0]}`, 'too_many_points'],
    ['points of 65 levels', `{"source_id":"s","points":[{"x":${'['.repeat(62)}${']'.repeat(62)}}]}`, 'json_too_deep'],
  ])('that is %s is refused', (_, json, code) => {
    expect(refusal(() => parse(json))).toMatchObject({ code, flaws: [] });
  });

  it('may have 10,000 points of as many metrics', () => {
    const points = Array.from({ length: 10_000 }, (_, at) => ({ metric: `m${at}`, value: at }));
    const accepted = acceptPoints(...points);
    expect(accepted.count).toBe(10_000);
    expect(accepted.points[0]!.series).toHaveLength(10_000);
  });

  it('takes the last of equal keys', () => {
    const accepted = parse(`{"source_id":"a","source_id":"s","points":[1],"points":[{"metric":"m","value":1,"value":2,"timestamp":${t}}]}`);
    expect(runs(accepted)).toEqual([['s', 'm', {}, [t], [2]]]);
  });
});

describe('columns', () => {
  it('hold each metric in body order, metrics by first point', () => {
    const accepted = acceptPoints(
      { metric: 'b', value: 1, timestamp: t + 1 },
      { metric: 'a', value: 2, timestamp: t },
      { metric: 'b', value: 3, timestamp: t },
    );
    expect(runs(accepted)).toEqual([
      ['s', 'b', {}, [t + 1, t], [1, 3]],
      ['s', 'a', {}, [t], [2]],
    ]);
  });

  it('of many bodies share memory, but no item of it', () => {
    const bodies = Array.from({ length: 3_000 }, (_, at) => acceptPoints({ metric: 'm', value: at, timestamp: t + at }));
    const series = bodies.map((accepted) => accepted.points[0]!.series[0]!);
    expect(series.map(({ timestampMs, value }) => [[...timestampMs], [...value]])).toEqual(bodies.map((_, at) => [[t + at], [at]]));
    expect(new Set(series.map(({ value }) => value.buffer)).size).toBeLessThan(10);
  });

  it('go to the source of each point, sources by first point', () => {
    const accepted = accept({
      points: [
        { source_id: 'x', metric: 'm', value: 1, timestamp: t },
        { metric: 'm', value: 2, timestamp: t },
        { source_id: 'x', metric: 'm', value: 3, timestamp: t },
      ],
      source_id: 's',
    });
    expect(runs(accepted)).toEqual([
      ['x', 'm', {}, [t, t], [1, 3]],
      ['s', 'm', {}, [t], [2]],
    ]);
  });

  it('are one for each metric with its tags, which may come in turns', () => {
    const tagged = (site: string, value: number) => ({ metric: 'm', value, timestamp: t, tags: { site } });
    const other = { metric: 'other', value: 9, timestamp: t };
    expect(runs(acceptPoints(tagged('A', 1), tagged('B', 2), other, tagged('A', 3), tagged('A', 4)))).toEqual([
      ['s', 'm', { site: 'A' }, [t, t, t], [1, 3, 4]],
      ['s', 'm', { site: 'B' }, [t], [2]],
      ['s', 'other', {}, [t], [9]],
    ]);
  });

  it('are one where only the order of the tags changes', () => {
    const accepted = acceptPoints(
      { metric: 'm', value: 1, timestamp: t, tags: { a: '1', b: '2' } },
      { metric: 'm', value: 2, timestamp: t, tags: { b: '2', a: '1' } },
    );
    expect(runs(accepted)).toEqual([['s', 'm', { a: '1', b: '2' }, [t, t], [1, 2]]]);
  });

  it('carry the organization and the receive time', () => {
    expect(acceptPoint({}).points[0]).toMatchObject({ orgId: 'o', sourceId: 's', receivedMs });
    expect(acceptEvent({}).events[0]).toMatchObject({ orgId: 'o', sourceId: 's', receivedMs, origin: 'source' });
  });
});

describe('a field', () => {
  it.each([
    ['source_id', 's'],
    ['source_id', 'A.b_c:d@e+f-1'],
    ['source_id', 'x'.repeat(256)],
    ['metric', 'battery.level'],
    ['metric', `'); DROP TABLE points;--`],
    ['metric', 'a,"b"\n😀'],
    ['metric', '__proto__'],
    ['metric', ' '],
    ['metric', '€'.repeat(85) + 'x'],
    ['class', null],
    ['class', 'metric'],
    ['tags', null],
    ['tags', {}],
    ['tags', Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, 'é'.repeat(128)]))],
    ['tags', { '': '' }],
    ['value', 0],
    ['value', -1.5e300],
    ['value', 5e-324],
  ])('%s may be %j', (field, value) => {
    expect(acceptPoint({ [field]: value }).count).toBe(1);
  });

  it.each([
    ['source_id', '', 'invalid_source_id'],
    ['source_id', 7, 'invalid_source_id'],
    ['source_id', '-a', 'invalid_source_id'],
    ['source_id', 'a b', 'invalid_source_id'],
    ['source_id', 'a/b', 'invalid_source_id'],
    ['source_id', 'a\n', 'invalid_source_id'],
    ['source_id', 'é', 'invalid_source_id'],
    ['source_id', 'x'.repeat(257), 'invalid_source_id'],
    ['metric', '', 'invalid_metric'],
    ['metric', null, 'invalid_metric'],
    ['metric', 1, 'invalid_metric'],
    ['metric', 'a\0b', 'invalid_metric'],
    ['metric', '\ud800', 'invalid_metric'],
    ['metric', 'x'.repeat(257), 'invalid_metric'],
    ['metric', '€'.repeat(86), 'invalid_metric'],
    ['class', 'Event', 'unknown_class'],
    ['class', '', 'unknown_class'],
    ['class', 0, 'unknown_class'],
    ['value', null, 'invalid_value'],
    ['value', '1', 'invalid_value'],
    ['value', true, 'invalid_value'],
    ['value', {}, 'invalid_value'],
    ['timestamp', '2026-01-01', 'invalid_timestamp'],
    ['timestamp', String(t), 'invalid_timestamp'],
    ['timestamp', true, 'invalid_timestamp'],
    ['timestamp', [], 'invalid_timestamp'],
    ['timestamp', 253_402_300_800, 'timestamp_out_of_range'],
    ['timestamp', 999_999_999_999, 'timestamp_out_of_range'],
    ['timestamp', 1e21, 'timestamp_out_of_range'],
    ['tags', [], 'invalid_tags'],
    ['tags', 'a', 'invalid_tags'],
    ['tags', Object.fromEntries(Array.from({ length: 17 }, (_, at) => [at, ''])), 'too_many_tags'],
    ['tags', { ['k'.repeat(257)]: '' }, 'tag_too_long'],
  ])('%s may not be %j', (field, value, code) => {
    const error = refusal(() => acceptPoint({ [field]: value }));
    expect(error.code).toBe('invalid_points');
    expect(error.flaws).toEqual([{ pointer: `/points/0/${field}`, code, detail: expect.any(String) }]);
  });

  it.each([
    ['metric', 'missing_metric'],
    ['value', 'missing_value'],
  ])('%s may not be missing', (field, code) => {
    expect(refusal(() => acceptPoint({ [field]: undefined })).flaws).toMatchObject([{ pointer: '/points/0', code }]);
  });

  it.each([
    ['a/b~c', 1, '/points/0/tags/a~1b~0c', 'invalid_tags'],
    ['a', null, '/points/0/tags/a', 'invalid_tags'],
    ['a', {}, '/points/0/tags/a', 'invalid_tags'],
    ['a', 'v'.repeat(257), '/points/0/tags/a', 'tag_too_long'],
  ])('the tag %j may not be %j', (key, value, pointer, code) => {
    expect(refusal(() => acceptPoint({ tags: { [key]: value } })).flaws).toMatchObject([{ pointer, code }]);
  });

  it('value or timestamp beyond the doubles is refused', () => {
    const error = refusal(() => parse('{"source_id":"s","points":[{"metric":"m","value":1e400,"timestamp":-1e400}]}'));
    expect(error.flaws).toMatchObject([
      { pointer: '/points/0/timestamp', code: 'invalid_timestamp' },
      { pointer: '/points/0/value', code: 'invalid_value' },
    ]);
  });

  it('value keeps every bit, the sign of zero too', () => {
    const accepted = parse('{"source_id":"s","points":[{"metric":"m","value":-0},{"metric":"m","value":0.1},{"metric":"m","value":1E+2}]}');
    expect(accepted.points[0]!.series[0]!.value).toEqual(Float64Array.of(-0, 0.1, 100));
  });

  it.each([
    ['seconds', 1_700_000_000, t],
    ['milliseconds', t, t],
    ['microseconds', t * 1e3, t],
    ['nanoseconds', t * 1e6, t],
    ['a time ahead', 99_999_999_999_999, 99_999_999_999_999],
    ['the last second of 9999', 253_402_300_799, 253_402_300_799_000],
    ['null', null, receivedMs],
    ['nothing', undefined, receivedMs],
    ['zero', 0, receivedMs],
    ['a time before 1970', -1, receivedMs],
  ])('timestamp as %s', (_, timestamp, expected) => {
    expect(acceptPoint({ timestamp }).points[0]!.series[0]!.timestampMs).toEqual(Float64Array.of(expected));
    expect(acceptEvent({ timestamp }).events[0]!.events[0]!.timestampMs).toBe(expected);
  });

  it('tags are data, whatever their keys', () => {
    const { tags } = parse('{"source_id":"s","points":[{"metric":"m","value":1,"tags":{"__proto__":"p","constructor":"c"}}]}').points[0]!
      .series[0]!;
    expect(Object.entries(tagsOf(tags))).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ]);
    expect(Object.getPrototypeOf(tagsOf(tags))).toBeNull();
  });
});

describe('a source', () => {
  it('is missing where neither the body nor the point names one', () => {
    const error = refusal(() => accept({ points: [{ metric: 'm', value: 1 }] }));
    expect(error.flaws).toMatchObject([{ pointer: '/points/0', code: 'missing_source_id' }]);
  });

  it.each([[[]], [[{ metric: 'm', value: 1 }]], [[{ source_id: 's', metric: 'm', value: 1 }]]])(
    'of the body must be valid beside the points %j',
    (points) => {
      const error = refusal(() => accept({ source_id: 'a b', points }));
      expect(error.flaws).toMatchObject([{ pointer: '/source_id', code: 'invalid_source_id' }]);
    },
  );
});

describe('an event', () => {
  it.each([
    ['a string', 'door open', 'door open', false],
    ['an empty string', '', '', false],
    ['a string that looks like JSON', '{"a":1}', '{"a":1}', false],
    ['an object', { b: [1, 'x', null], a: {} }, '{"b":[1,"x",null],"a":{}}', true],
    ['a number', 1.5, '1.5', true],
    ['false', false, 'false', true],
    ['an array', [], '[]', true],
    ['null', null, 'null', true],
    ['4,096 bytes', 'é'.repeat(2048), 'é'.repeat(2048), false],
    ['a lone surrogate', 'a\ud800', 'a\ufffd', false],
    ['a lone surrogate in JSON', ['\ud800'], String.raw`["\ud800"]`, true],
  ])('keeps %s', (_, value, stored, isJson) => {
    expect(acceptEvent({ value }).events[0]!.events).toMatchObject([{ value: stored, isJson }]);
  });

  it.each([
    ['4,097 bytes', 'x'.repeat(4097), 'event_value_too_large'],
    ['4,097 bytes of characters', 'é'.repeat(2048) + 'x', 'event_value_too_large'],
    ['4,097 bytes of JSON', ['x'.repeat(4093)], 'event_value_too_large'],
  ])('refuses %s', (_, value, code) => {
    expect(refusal(() => acceptEvent({ value })).flaws).toMatchObject([{ pointer: '/points/0/value', code }]);
  });

  it('refuses a missing value', () => {
    expect(refusal(() => acceptEvent({ value: undefined })).flaws).toMatchObject([{ pointer: '/points/0/value', code: 'missing_value' }]);
  });

  const sent = (value: string, more = ''): Accepted =>
    parse(`{"source_id":"s","points":[{"metric":"e","class":"event","value":${value}${more}}]}`);

  /** A field twice takes the slow way through the body. */
  it.each(['', ',"class":"event"'])('keeps the JSON that was sent, without its blanks (more: %j)', (more) => {
    for (const [json, stored] of [
      ['1.0', '1.0'],
      ['-0.00', '-0.00'],
      ['1E+2', '1E+2'],
      ['1e400', '1e400'],
      ['12345678901234567890', '12345678901234567890'],
      ['{"b": 1.50, "a": [ 1e999 ,\n\t2 ]}', '{"b":1.50,"a":[1e999,2]}'],
      ['{"2":1,"1":2,"2":3}', '{"2":1,"1":2,"2":3}'],
      ['{"__proto__" : { } }', '{"__proto__":{}}'],
      ['["a b\\" c" , "\\\\" , "\\u00e9\\/\\ud800", "é 😀"]', '["a b\\" c","\\\\","\\u00e9\\/\\ud800","é 😀"]'],
      [`[${' '.repeat(5000)}1]`, '[1]'],
      [`[${'0, '.repeat(2046)}10]`, `[${'0,'.repeat(2046)}10]`],
      [`{${'"a":1, '.repeat(681)}"a":1}`, `{${'"a":1,'.repeat(681)}"a":1}`],
    ] as const) {
      expect(sent(json, more).events[0]!.events).toMatchObject([{ value: stored, isJson: true }]);
    }
  });

  it.each(['', ',"class":"event"'])(
    'refuses more than 4,096 bytes of JSON, blanks and all keys counted as they are kept (more: %j)',
    (more) => {
      for (const json of [
        `[${'0, '.repeat(2046)}1000]`,
        `{${'"a":1, '.repeat(682)}"abc":10}`,
        `[${'1,'.repeat(400_000)}1]`,
        `["${'é'.repeat(2047)}"]`,
      ]) {
        expect(refusal(() => sent(json, more)).flaws).toMatchObject([{ pointer: '/points/0/value', code: 'event_value_too_large' }]);
      }
    },
  );

  it('has its place in the whole body, across sources and points', () => {
    const accepted = acceptPoints(
      { metric: 'm', value: 1 },
      { metric: 'e', class: 'event', value: 'a' },
      { source_id: 'x', metric: 'e', class: 'event', value: 'a' },
      { metric: 'e', class: 'event', value: 'b' },
    );
    expect(accepted.events.map(({ sourceId, events }) => [sourceId, events.map(({ place }) => place)])).toEqual([
      ['s', [1, 3]],
      ['x', [2]],
    ]);
  });

  it('counts its equals: same source, metric, time, value, kind of value and tags in any order', () => {
    const event = { metric: 'e', class: 'event', value: '1', timestamp: t, tags: { a: '1', b: '2' } };
    const accepted = acceptPoints(
      event,
      { ...event, tags: { b: '2', a: '1' } },
      { ...event, timestamp: t / 1000 },
      { ...event, source_id: 'x' },
      { ...event, metric: 'f' },
      { ...event, timestamp: t + 1 },
      { ...event, value: '2' },
      { ...event, value: 1 },
      { ...event, tags: { a: '1' } },
      { ...event, tags: {} },
      { ...event, tags: undefined },
      { ...event, value: 1, timestamp: null },
      { ...event, value: 1, timestamp: null },
    );
    const ordinals = accepted.events.flatMap(({ events }) => events.map(({ place, ordinal }) => [place, ordinal]));
    expect(new Map(ordinals as [number, number][])).toEqual(
      new Map([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 0],
        [4, 0],
        [5, 0],
        [6, 0],
        [7, 0],
        [8, 0],
        [9, 0],
        [10, 1],
        [11, 0],
        [12, 1],
      ]),
    );
  });
});

describe('a refused body', () => {
  it('names every flaw of every point, the first 20', () => {
    const error = refusal(() => acceptPoints({ metric: 'ok', value: 1 }, { metric: '', timestamp: 'x' }, 7, ...Array(30).fill(null)));
    expect(error.flaws.slice(0, 5)).toMatchObject([
      { pointer: '/points/1/metric', code: 'invalid_metric' },
      { pointer: '/points/1/timestamp', code: 'invalid_timestamp' },
      { pointer: '/points/1', code: 'missing_value' },
      { pointer: '/points/2', code: 'point_not_object' },
      { pointer: '/points/3', code: 'point_not_object' },
    ]);
    expect(error.flaws).toHaveLength(20);
  });

  it('says in its own sentence what is wrong first', () => {
    expect(refusal(() => acceptPoint({ value: 'x' })).message).toBe(`/points/0/value: ${flawCases.invalid_value}`);
  });
});
