import { describe, expect, it } from '@jest/globals';
import type { Alert } from './alert.js';
import type { Monitor, Threshold } from './monitor.js';
import { decide, evolve, maxAheadMs, nothingEvaluated, readingsOf, zoneOf, type Reading } from './threshold.js';

const plain: Threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: 'hot' };
const monitorOf = (change: Partial<Threshold>): Monitor => ({
  orgId: 'o',
  monitorId: 'm',
  name: '',
  sourceId: 's',
  metric: 'heat',
  threshold: { ...plain, ...change },
  offline: null,
  createdMs: 1,
  definedMs: 1,
});

/** What a threshold makes of readings one after the other: `!` for a reading that fires, `-` for one that resolves. */
function course(change: Partial<Threshold>, readings: readonly Reading[]): { readonly marks: string; readonly alerts: readonly Alert[] } {
  const monitor = monitorOf(change);
  let state = nothingEvaluated;
  const decided = readings.map((reading) => {
    const alert = decide(monitor, 's', state, reading);
    state = evolve(state, monitor.threshold!, reading, alert);
    return alert;
  });
  const marks = decided.map((alert) => (alert ? (alert.resolvedMs === null ? '!' : '-') : '.')).join('');
  return { marks, alerts: decided.filter((alert) => alert !== null) };
}

/** Values a second apart. */
const after = (...values: number[]): Reading[] => values.map((value, at) => ({ timestampMs: 1000 * (at + 1), value }));

describe('a threshold', () => {
  it.each([
    ['at the maximum', { max: 80 }, [80], '.'],
    ['above it', { max: 80 }, [80.1], '!'],
    ['above it for long', { max: 80 }, [81, 90, 99], '!..'],
    ['above it and back', { max: 80 }, [81, 80], '!-'],
    ['above it twice', { max: 80 }, [81, 80, 81, 80], '!-!-'],
    ['in the band after it', { max: 80, clearMax: 75 }, [81, 78, 81, 78], '!...'],
    ['at the edge of the band', { max: 80, clearMax: 75 }, [81, 75], '!-'],
    ['below the band', { max: 80, clearMax: 75 }, [81, 74], '!-'],
    ['in the band before anything fired', { max: 80, clearMax: 75 }, [78, 74], '..'],
    ['at the minimum', { min: 5, max: null }, [5, 4.9, 5], '.!-'],
    ['in the band above the minimum', { min: 5, max: null, clearMin: 8 }, [4, 7, 8], '!.-'],
    ['from above the maximum to below the minimum', { min: 5, max: 80 }, [81, 4, 50], '!.-'],
    ['between two bands', { min: 5, max: 80, clearMin: 10, clearMax: 70 }, [81, 75, 7, 70], '!..-'],
    ['with a band on one side', { min: 5, max: 80, clearMax: 70 }, [4, 75, 5], '!.-'],
  ] as const)('%s', (_, change, values, marks) => {
    expect(course(change, after(...values)).marks).toBe(marks);
  });

  it.each([
    ['not at once', [81], '.'],
    ['not before its time', [81, 81], '..'],
    ['at its time', [81, 81, 81], '..!'],
    ['from the first value outside', [70, 81, 90, 85], '...!'],
    ['from the start again after one inside', [81, 81, 80, 81, 81, 81], '.....!'],
    ['though one value is in the band, from the start again', [81, 78, 81, 81, 81], '....!'],
    ['and resolves at once', [81, 81, 81, 74], '..!-'],
    ['on whichever side it is outside', [81, 1, 81], '..!'],
  ] as const)('for 2 seconds: fires %s', (_, values, marks) => {
    expect(course({ min: 5, forMs: 2000, clearMax: 75 }, after(...values)).marks).toBe(marks);
  });

  it('for 2 seconds: counts the time between points, however long none comes', () => {
    expect(course({ forMs: 2000 }, [...after(81), { timestampMs: 90_000, value: 81 }]).marks).toBe('.!');
    expect(course({ forMs: 2000 }, [...after(81), { timestampMs: 90_000, value: 80 }]).marks).toBe('..');
  });

  it('says what fired and what resolved, at the times of the points', () => {
    const [fired, cleared, again] = course({ max: 80 }, after(81, 50, 82)).alerts;
    const threshold = plain;
    const open = { monitorId: 'm', sourceId: 's', metric: 'heat', threshold, offline: null };
    expect(fired).toEqual({ ...open, alertId: fired!.alertId, value: 81, triggeredMs: 1000, resolvedMs: null, resolution: null });
    expect(cleared).toEqual({ ...fired, value: 50, resolvedMs: 2000, resolution: 'inside' });
    expect(again!.alertId).not.toBe(fired!.alertId);
  });

  it('has the same id for the same alert of the same definition, and for no other', () => {
    const idOf = (monitor: Monitor, sourceId: string, timestampMs: number): string =>
      decide(monitor, sourceId, nothingEvaluated, { timestampMs, value: 99 })!.alertId;
    const monitor = monitorOf({});
    const ids = [
      idOf(monitor, 's', 5),
      idOf(monitor, 's', 6),
      idOf(monitor, 't', 5),
      idOf({ ...monitor, definedMs: 2 }, 's', 5),
      idOf({ ...monitor, monitorId: 'n' }, 's', 5),
      idOf({ ...monitor, orgId: 'p' }, 's', 5),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(idOf(monitor, 's', 5)).toBe(ids[0]);
    expect(ids[0]).toMatch(/^alert_[0-9a-f]{24}$/);
  });
});

describe('the readings of a record', () => {
  const run = (...points: readonly (readonly [number, number])[]) => ({
    metric: 'heat',
    tags: '',
    timestampMs: Float64Array.from(points, ([time]) => time),
    value: Float64Array.from(points, ([, value]) => value),
  });
  const read = (evaluatedMs: number, ...runs: ReturnType<typeof run>[]): unknown =>
    readingsOf({ ...plain, clearMax: 75 }, runs, { ...nothingEvaluated, evaluatedMs }, 1000).map(({ timestampMs, value }) => [
      timestampMs,
      value,
    ]);

  it.each([
    [
      'are in order of time',
      0,
      [run([3, 1], [1, 2]), run([2, 3])],
      [
        [1, 2],
        [2, 3],
        [3, 1],
      ],
    ],
    ['leave out what is late, and what has the time of the newest', 2, [run([1, 1], [2, 2], [3, 3])], [[3, 3]]],
    ['leave out what is ahead', 0, [run([1000 + maxAheadMs, 1], [1001 + maxAheadMs, 2])], [[1000 + maxAheadMs, 1]]],
    ['take the worst of one time', 0, [run([1, 70]), run([1, 85]), run([1, 78])], [[1, 85]]],
    ['take one in the band rather than one inside', 0, [run([1, 70]), run([1, 78])], [[1, 78]]],
    ['take the first of equally bad ones', 0, [run([1, 90]), run([1, 85])], [[1, 90]]],
  ] as const)('%s', (_, evaluatedMs, runs, expected) => {
    expect(read(evaluatedMs, ...runs)).toEqual(expected);
  });
});

it.each([
  [81, 'outside'],
  [80, 'between'],
  [75, 'inside'],
  [10, 'inside'],
  [9, 'between'],
  [4, 'outside'],
] as const)('%d is %s', (value, zone) => {
  expect(zoneOf({ ...plain, min: 5, clearMin: 10, clearMax: 75 }, value)).toBe(zone);
});
