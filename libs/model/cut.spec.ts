import { describe, expect, it } from '@jest/globals';
import { cutEvents, cutPoints, maxRecordBytes } from './cut.js';
import { type EventBatch, noTags, type PointBatch, type SeriesRun } from './point.js';

const run = (metric: string, points: number): SeriesRun => ({
  metric,
  tags: noTags,
  timestampMs: Float64Array.from({ length: points }, (_, at) => at),
  value: new Float64Array(points),
});
const batch = (...series: SeriesRun[]): PointBatch => ({ orgId: 'o', sourceId: 's', receivedMs: 1, series });
const shape = (batches: PointBatch[]): [string, number][][] =>
  batches.map(({ series }) => series.map(({ metric, value }) => [metric, value.length]));

describe('cutPoints', () => {
  it.each([
    [
      'keeps what fits',
      [run('a', 10_000), run('b', 5_000)],
      [
        [
          ['a', 10_000],
          ['b', 5_000],
        ],
      ],
    ],
    [
      'begins a record at a run',
      [run('a', 10_000), run('b', 10_000), run('a', 1)],
      [
        [['a', 10_000]],
        [
          ['b', 10_000],
          ['a', 1],
        ],
      ],
    ],
    ['cuts a run that is too long', [run('a', 40_000)], [[['a', 17_471]], [['a', 17_471]], [['a', 5_058]]]],
    ['makes nothing of nothing', [], []],
  ] as const)('%s', (_, series, expected) => {
    expect(shape(cutPoints(batch(...series)))).toEqual(expected);
  });

  it('keeps all points in order', () => {
    const pieces = cutPoints(batch(run('a', 50_000))).flatMap(({ series }) => series);
    expect(pieces.flatMap(({ timestampMs }) => [...timestampMs])).toEqual([...run('a', 50_000).timestampMs]);
  });
});

describe('cutEvents', () => {
  it('fills records in order', () => {
    const event = { metric: 'e', timestampMs: 1, value: '€'.repeat(1365), isJson: false, tags: noTags, ordinal: 0 };
    const events = Array.from({ length: 200 }, (_, place) => ({ ...event, place }));
    const whole: EventBatch = { orgId: 'o', sourceId: 's', receivedMs: 1, origin: 'source', events };
    const pieces = cutEvents(whole);
    expect(pieces.flatMap((piece) => piece.events)).toEqual(events);
    expect(pieces.map((piece) => piece.events.length)).toEqual([63, 63, 63, 11]);
    expect(maxRecordBytes).toBeGreaterThan(63 * 4095);
  });
});
