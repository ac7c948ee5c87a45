import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Alert } from './alert.js';
import { Backtest, maxBacktestPoints, maxBacktestTransitions } from './backtest.js';
import type { Monitor, MonitorDefinition, Threshold } from './monitor.js';
import { afterPoints, unwatched } from './watched-source.js';

const t = 1_700_000_000_000;
type Point = readonly [timestampMs: number, value: number];

const about = { severity: 'warning', message: '' } as const;
const definitionOf = (threshold: Partial<Threshold>): MonitorDefinition => ({
  name: '',
  sourceId: 's',
  metric: 'm',
  threshold: { min: null, max: null, clearMin: null, clearMax: null, forMs: 0, ...about, ...threshold },
  offline: null,
});
const columns = (points: readonly Point[]) => ({
  timestampMs: Float64Array.from(points, ([ms]) => ms),
  value: Float64Array.from(points, ([, value]) => value),
});

/** Cuts into pieces of these sizes, again and again. */
function pieces<T>(all: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  const cut: T[][] = [];
  for (let at = 0, n = 0; at < all.length; at += sizes[n++ % sizes.length]!) cut.push(all.slice(at, at + sizes[n % sizes.length]!));
  return cut;
}

/** What live evaluation tells of records, each received when its last point was made or later. */
function live(definition: MonitorDefinition, records: readonly (readonly Point[])[], delayMs: number): readonly Alert[] {
  const monitor: Monitor = { ...definition, orgId: 'o', monitorId: 'backtest', createdMs: 0, definedMs: 0 };
  let state = unwatched('o', 's');
  return records.flatMap((record) => {
    const series = [{ metric: 'm', tags: '', ...columns(record) }];
    const alerts: Alert[] = [];
    for (const step of afterPoints(state, [monitor], { orgId: 'o', sourceId: 's', receivedMs: record.at(-1)![0] + delayMs, series })) {
      state = step.state;
      alerts.push(...step.alerts);
    }
    return alerts;
  });
}

function backtest(definition: MonitorDefinition, pages: readonly (readonly Point[])[]): Backtest {
  const test = new Backtest('o', definition, t);
  for (const page of pages) test.take(columns(page), page.at(-1)![0] + 1);
  return test;
}

const thresholds = fc
  .record({ max: fc.integer({ min: 4, max: 8 }), min: fc.option(fc.integer({ min: 0, max: 3 })), clear: fc.nat(2), forMs: fc.nat(20) })
  .map(({ max, min, clear, forMs }) => definitionOf({ max, min, clearMax: clear ? max - 1 : null, forMs }));
const histories = fc.array(fc.tuple(fc.integer({ min: 1, max: 10 }), fc.nat(10)), { minLength: 1, maxLength: 60 }).map((steps) => {
  let ms = t;
  return steps.map(([waitMs, value]): Point => [(ms += waitMs), value]);
});
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe('a backtest', () => {
  it('tells what live evaluation did, of points at distinct milliseconds in the order of time', () => {
    fc.assert(
      fc.property(thresholds, histories, sizes, sizes, fc.nat(10_000), (definition, history, ofRecords, ofPages, delayMs) => {
        const { alerts, points, untilMs } = backtest(definition, pieces(history, ofPages));
        expect(alerts).toEqual(live(definition, pieces(history, ofRecords), delayMs));
        expect([points, untilMs]).toEqual([history.length, history.at(-1)![0] + 1]);
      }),
      { numRuns: 1000 },
    );
  });

  it('counts the worst of the points of one time', () => {
    const { alerts } = backtest(definitionOf({ max: 5 }), [[[t, 1], [t, 9], [t, 2]], [[t + 1, 3]]]); // prettier-ignore
    expect(alerts.map(({ value }) => value)).toEqual([9, 3]);
  });

  it('ends with 1,000 transitions, and says how far it has come', () => {
    const history = Array.from({ length: 3000 }, (_, at): Point => [t + at, at % 2 ? 9 : 1]);
    const test = backtest(definitionOf({ max: 5 }), [history]);
    expect([test.alerts.length, test.isOver, test.untilMs]).toEqual([maxBacktestTransitions, true, t + maxBacktestTransitions]);
  });

  it('ends with a million points', () => {
    const test = new Backtest('o', definitionOf({ max: 5 }), t);
    const many = maxBacktestPoints / 10;
    for (let page = 0; page < 10; page++) {
      expect(test.isOver).toBe(false);
      const timestampMs = Float64Array.from({ length: many }, (_, at) => t + page * many + at);
      test.take({ timestampMs, value: new Float64Array(many) }, t + (page + 1) * many);
    }
    expect([test.isOver, test.alerts]).toEqual([true, []]);
  });
});
