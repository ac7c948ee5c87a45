import { describe, expect, it } from '@jest/globals';
import { flawOfEvents, flawOfPoints } from './batch-flaws.js';
import type { DeviceEvent, EventBatch, PointBatch, SeriesRun, Tags } from './point.js';
import { tagsKey } from './tags.js';

const t = 1_700_000_000_000;
const column = (...values: number[]): Float64Array => Float64Array.from(values);
const manyTags = (count: number): Tags => tagsKey(Object.fromEntries(Array.from({ length: count }, (_, at) => [`tag${at}`, 'x'])));

const pointsWith = (run: Partial<SeriesRun>, sourceId = 's', orgId = 'o'): PointBatch => ({
  orgId,
  sourceId,
  receivedMs: t,
  series: [
    { metric: 'ok', tags: '', timestampMs: column(t), value: column(1) },
    { metric: 'm', tags: '', timestampMs: column(t, t + 1), value: column(1, 2), ...run },
  ],
});
const eventsWith = (event: Partial<DeviceEvent>, sourceId = 's', orgId = 'o'): EventBatch => ({
  orgId,
  sourceId,
  receivedMs: t,
  origin: 'source',
  events: [{ metric: 'm', timestampMs: t, value: 'v', isJson: false, tags: '', place: 0, ordinal: 0, ...event }],
});

const badTime = 'a timestamp is not a whole number of milliseconds from 1 to the year 9999';
const inBoth: [what: string, fields: { metric?: string; tags?: Tags }, sourceId: string, flaw: string | undefined][] = [
  ['nothing', {}, 's', undefined],
  ['an id with a slash', {}, 'a/b', 'the source id is not one'],
  ['no metric name', { metric: '' }, 's', 'a metric name is not one'],
  ['NUL in a metric name', { metric: 'a\0b' }, 's', 'a metric name is not one'],
  ['as many tags as there may be', { tags: manyTags(16) }, 's', undefined],
  ['a tag too many', { tags: manyTags(17) }, 's', 'a point has more than 16 tags'],
  ['a long tag', { tags: tagsKey({ key: 'é'.repeat(129) }) }, 's', 'a tag has more than 256 bytes'],
];

describe('a batch of an organization whose id', () => {
  it.each([
    ['is a name', 'org_1', undefined],
    ['has a slash', 'a/b', 'the organization id is not one'],
    ['has NUL', 'a\0b', 'the organization id is not one'],
    ['is empty', '', 'the organization id is not one'],
    ['is long', 'é'.repeat(129), 'the organization id is not one'],
  ])('%s', (_, orgId, flaw) => {
    expect([flawOfPoints(pointsWith({}, 's', orgId)), flawOfEvents(eventsWith({}, 's', orgId))]).toEqual([flaw, flaw]);
  });
});

describe('a batch of points', () => {
  it.each([
    ...inBoth.map(([what, fields, sourceId, flaw]) => [what, pointsWith(fields, sourceId), flaw] as const),
    ['NaN', pointsWith({ value: column(1, Number.NaN) }), 'a value is not finite'],
    ['infinity', pointsWith({ value: column(-Infinity, 1) }), 'a value is not finite'],
    ['a deletion among them', { ...pointsWith({}), deleted: { metric: null } }, 'a deletion brings points or events too'],
    ['a deletion', { ...pointsWith({}), series: [], deleted: { metric: 'm' } }, undefined],
    ['a deletion of what is no metric', { ...pointsWith({}), series: [], deleted: { metric: '' } }, 'a metric name is not one'],
    ['time 0', pointsWith({ timestampMs: column(t, 0) }), badTime],
    ['a time after the year 9999', pointsWith({ timestampMs: column(t, 253_402_300_800_000) }), badTime],
  ] as const)('with %s', (_, batch, flaw) => {
    expect(flawOfPoints(batch)).toBe(flaw);
  });
});

describe('a batch of events', () => {
  it.each([
    ...inBoth.map(([what, fields, sourceId, flaw]) => [what, eventsWith(fields, sourceId), flaw] as const),
    ['a deletion among them', { ...eventsWith({}), deleted: { metric: null } }, 'a deletion brings points or events too'],
    ['a deletion', { ...eventsWith({}), events: [], deleted: { metric: null } }, undefined],
    ['time 0', eventsWith({ timestampMs: 0 }), badTime],
    ['half a millisecond', eventsWith({ timestampMs: t + 0.5 }), badTime],
    ['a long value', eventsWith({ value: 'é'.repeat(2049) }), 'a value has more than 4096 bytes'],
    ['a place below 0', eventsWith({ place: -1 }), 'a place or an ordinal is below 0'],
  ] as const)('with %s', (_, batch, flaw) => {
    expect(flawOfEvents(batch)).toBe(flaw);
  });
});
