import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { alertEvents, type Alert } from './alert.js';
import { maxEventValueBytes } from './event-value.js';
import { maxAlertMessageBytes, maxMonitorsPerSource, type Monitor, type Offline, type Threshold } from './monitor.js';
import type { PointBatch } from './point.js';
import { maxAheadMs } from './threshold.js';
import {
  afterLooking,
  afterPoints,
  afterSending,
  lookAgainMs,
  lookMs,
  maxStepBytes,
  unwatched,
  type Step,
  type WatchedSource,
} from './watched-source.js';

const plain: Threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' };
const silence: Offline = { timeoutMs: 60_000, severity: 'critical', message: 'gone' };
const aMonitor = (change: Partial<Monitor>): Monitor => ({
  orgId: 'o',
  monitorId: 'm',
  name: '',
  sourceId: 's',
  metric: 'heat',
  threshold: null,
  offline: null,
  createdMs: 1,
  definedMs: 1,
  ...change,
});
const hot = aMonitor({ threshold: plain });
const gone = aMonitor({ metric: null, offline: silence });

type Point = readonly [timestampMs: number, value: number];
const aBatch = (points: readonly Point[], receivedMs = 1e6, metric = 'heat'): PointBatch => ({
  orgId: 'o',
  sourceId: 's',
  receivedMs,
  series: [{ metric, tags: '', timestampMs: Float64Array.from(points, ([t]) => t), value: Float64Array.from(points, ([, v]) => v) }],
});

interface Course {
  readonly state: WatchedSource;
  readonly alerts: readonly Alert[];
}
const start: Course = { state: unwatched('o', 's'), alerts: [] };
const then = (course: Course, { state, alerts }: Step): Course => ({ state, alerts: [...course.alerts, ...alerts] });
const points = (course: Course, monitors: readonly Monitor[], batch: PointBatch): Course =>
  [...afterPoints(course.state, monitors, batch)].reduce(then, course);
const looked = (course: Course, monitors: readonly Monitor[], isConnected: boolean, atMs: number, caughtUpMs = atMs): Course =>
  [...afterLooking(course.state, monitors, isConnected, atMs, caughtUpMs)].reduce(then, course);
const sent = (course: Course, monitors: readonly Monitor[], receivedMs: number): Course =>
  [...afterSending(course.state, monitors, receivedMs)].reduce(then, course);
/** `fired 5` at a time, or the way it resolved. */
const told = ({ alerts }: Course): readonly string[] =>
  alerts.map(({ resolution, resolvedMs, triggeredMs }) => `${resolution ?? 'fired'} ${resolvedMs ?? triggeredMs}`);

describe('points of a source with a threshold', () => {
  it('count whether they come in one record or in many, and once however often they come', () => {
    const [a, b] = [
      aBatch([
        [1, 70],
        [2, 85],
      ]),
      aBatch([
        [3, 90],
        [4, 60],
      ]),
    ];
    const once = points(points(start, [hot], a), [hot], b);
    expect(told(once)).toEqual(['fired 2', 'inside 4']);
    expect(points(points(once, [hot], a), [hot], b)).toEqual(once);
  });

  it('that are late neither fire nor resolve', () => {
    const open = points(start, [hot], aBatch([[10, 85]]));
    expect(told(points(open, [hot], aBatch([[9, 10]])))).toEqual(['fired 10']);
    expect(told(points(points(start, [hot], aBatch([[10, 70]])), [hot], aBatch([[9, 99]])))).toEqual([]);
  });

  it('that were received before the definition never count', () => {
    const later = { ...hot, definedMs: 1000 };
    expect(told(points(start, [later], aBatch([[2000, 99]], 999)))).toEqual([]);
    expect(told(points(start, [later], aBatch([[500, 99]], 1000)))).toEqual(['fired 500']);
  });

  it('of another metric say nothing, and change nothing', () => {
    const [step] = [...afterPoints(start.state, [hot], aBatch([[1, 99]], 1e6, 'cold'))];
    expect(step).toEqual({ state: start.state, alerts: [] });
    expect(step!.state).toBe(start.state);
  });

  it('have one open alert for each monitor', () => {
    const every = { ...hot, monitorId: 'n', sourceId: '*', threshold: { ...plain, max: 90 } };
    const course = points(
      start,
      [hot, every],
      aBatch([
        [1, 85],
        [2, 95],
        [3, 96],
        [4, 85],
        [5, 10],
      ]),
    );
    expect(course.alerts.map((alert) => [alert.monitorId, alert.resolvedMs ?? -alert.triggeredMs])).toEqual([
      ['m', -1],
      ['m', 5],
      ['n', -2],
      ['n', 4],
    ]);
  });

  it('with many transitions give steps of bounded size, of which each is whole', () => {
    const batch = aBatch(Array.from({ length: 1000 }, (_, at): Point => [at + 1, at % 2 === 0 ? 99 : 10]));
    const all = points(start, [hot], batch);
    expect(all.alerts).toHaveLength(1000);
    const steps = [...afterPoints(start.state, [hot], batch)];
    for (const { alerts } of steps) expect(JSON.stringify(alerts).length).toBeLessThan(maxStepBytes);
    for (const [at, step] of steps.entries()) {
      const done = steps.slice(0, at + 1).reduce(then, start);
      expect(points({ ...done, state: step.state }, [hot], batch)).toEqual(all);
    }
  });
});

describe('as many monitors as there may be, each with the longest message', () => {
  const message = 'x'.repeat(maxAlertMessageBytes);
  const many = Array.from({ length: 2 * maxMonitorsPerSource }, (_, at) =>
    aMonitor({ monitorId: `m${at}`, threshold: { ...plain, message }, offline: { ...silence, message } }),
  );
  const again = many.map((monitor) => ({ ...monitor, definedMs: 300_000 }));
  type Way = (course: Course) => Iterable<Step>;
  const fire: Way = ({ state }) => afterPoints(state, many, aBatch([[5, 99]], 100_000));
  const leave: Way = ({ state }) => afterLooking(state, many, false, 160_000, 160_000);
  const open = [fire, leave].reduce<Course>((course, way) => [...way(course)].reduce(then, course), start);

  it.each<readonly [string, Course, Way, number]>([
    ['fire at a value', start, fire, 1],
    ['fire at silence', { ...start, state: { ...start.state, heardMs: 100_000 } }, leave, 1],
    ['hear it send', open, ({ state }) => afterSending(state, many, 200_000), 1],
    ['hear it send points', open, ({ state }) => afterPoints(state, many, aBatch([[6, 99]], 200_000)), 1],
    ['see it connect', open, ({ state }) => afterLooking(state, many, true, 200_000, 200_000), 1],
    ['are deleted', open, ({ state }) => afterLooking(state, [], false, 300_000, 300_000), 2],
    ['are changed', open, ({ state }) => afterPoints(state, again, aBatch([[6, 1]], 300_000)), 2],
  ])('%s in steps of bounded size, of which each is whole', (_, before, way, each) => {
    const steps = [...way(before)];
    const all = steps.reduce(then, { ...before, alerts: [] });
    expect(all.alerts).toHaveLength(each * many.length);
    for (const { alerts } of steps) expect(JSON.stringify(alerts).length).toBeLessThan(maxStepBytes);
    for (const at of steps.keys()) {
      const done = steps.slice(0, at + 1).reduce(then, { ...before, alerts: [] });
      expect([...way(done)].reduce(then, done)).toEqual(all);
    }
  });
});

describe('while no alert may open', () => {
  const both = [hot, { ...gone, monitorId: 'g' }];
  const silent = (course: Course, mayOpen: boolean): Course =>
    [...afterLooking(course.state, both, false, 170_000, 170_000, mayOpen)].reduce(then, course);
  const full = (course: Course, batch: PointBatch): Course => [...afterPoints(course.state, both, batch, false)].reduce(then, course);

  it('none does, and it opens later if its condition lasts', () => {
    const high = full(start, aBatch([[5, 99]], 100_000));
    const quiet = silent(high, false);
    expect(told(quiet)).toEqual([]);
    expect(told(silent(points(quiet, both, aBatch([[6, 98]], 100_001)), true))).toEqual(['fired 6', 'fired 170000']);
    expect(told(points(quiet, both, aBatch([[6, 10]], 100_001)))).toEqual([]);
  });

  it('those that are open resolve', () => {
    const open = silent(points(start, both, aBatch([[5, 99]], 100_000)), true);
    expect(
      told(
        full(
          open,
          aBatch(
            [
              [6, 10],
              [7, 99],
            ],
            180_000,
          ),
        ),
      ).slice(2),
    ).toEqual(['heard 180000', 'inside 6']);
  });
});

describe('a definition that ends', () => {
  const open = looked(
    points(start, [hot, { ...gone, monitorId: 'g' }], aBatch([[5, 99]], 100)),
    [hot, { ...gone, monitorId: 'g' }],
    false,
    70_000,
  );

  const changed = [
    { ...hot, definedMs: 75_000 },
    { ...gone, monitorId: 'g', definedMs: 75_000 },
  ];
  it.each([
    ['deleted', [], 80_000],
    ['changed', changed, 75_000],
  ] as const)('because it is %s closes its alerts', (way, monitors, atMs) => {
    expect(told(open)).toEqual(['fired 5', 'fired 70000']);
    const closed = looked(open, monitors, false, 80_000);
    expect(told(closed).slice(2)).toEqual([`${way} ${atMs}`, `${way} ${atMs}`]);
    expect(closed.state.monitors).toEqual([]);
  });

  it('closes them before the next points too, which the new definition begins with', () => {
    const lower = { ...hot, definedMs: 75_000, threshold: { ...plain, max: 50 } };
    expect(told(points(open, [lower], aBatch([[4, 60]], 80_000))).slice(2)).toEqual(['changed 75000', 'deleted 80000', 'fired 4']);
  });

  it('is left alone where only an older one is known', () => {
    const newer = points(start, [{ ...hot, definedMs: 9 }], aBatch([[5, 99]], 100));
    expect(points(newer, [hot], aBatch([[6, 10]], 101))).toEqual(newer);
  });
});

describe('a source with a monitor of its silence', () => {
  const heard = sent(start, [gone], 100_000);

  it.each([
    ['not before its time', 159_999, []],
    ['at its time', 160_000, ['fired 160000']],
  ])('is offline %s', (_, atMs, expected) => {
    expect(told(looked(heard, [gone], false, atMs))).toEqual(expected);
  });

  it('is judged as of the time up to which everything is known', () => {
    expect(told(looked(heard, [gone], false, 500_000, 159_999))).toEqual([]);
    expect(told(looked(heard, [gone], false, 500_000, -Infinity))).toEqual([]);
    expect(told(looked(heard, [gone], false, 500_000, 160_000))).toEqual(['fired 160000']);
  });

  it('is offline once', () => {
    expect(told(looked(looked(heard, [gone], false, 160_000), [gone], false, 170_000))).toEqual(['fired 160000']);
  });

  it('is online when it sends, or connects', () => {
    const offline = looked(heard, [gone], false, 160_000);
    expect(told(sent(offline, [gone], 170_000))).toEqual(['fired 160000', 'heard 170000']);
    expect(told(points(offline, [gone], aBatch([], 170_000)))).toEqual(['fired 160000', 'heard 170000']);
    expect(told(looked(offline, [gone], true, 170_000))).toEqual(['fired 160000', 'heard 170000']);
  });

  it('is not online because a record comes again', () => {
    const offline = looked(heard, [gone], false, 160_000);
    expect(sent(offline, [gone], 100_000)).toEqual(offline);
  });

  it('is not offline while it is connected, and its time begins when the connection is seen to be gone', () => {
    const connected = looked(heard, [gone], true, 500_000);
    expect(told(looked(looked(connected, [gone], false, 505_000), [gone], false, 564_999))).toEqual([]);
    expect(told(looked(looked(connected, [gone], false, 505_000), [gone], false, 565_000))).toEqual(['fired 565000']);
  });

  it('that was never heard is offline from the definition on', () => {
    const later = { ...gone, definedMs: 50_000 };
    expect(told(looked(start, [later], false, 109_999))).toEqual([]);
    expect(told(looked(start, [later], false, 110_000))).toEqual(['fired 110000']);
  });

  it('never resolves before it fired, whatever the clocks say', () => {
    const offline = looked(heard, [gone], false, 160_000);
    expect(told(sent(offline, [gone], 150_000))).toEqual(['fired 160000', 'heard 160000']);
  });

  it('is looked at when something may have changed', () => {
    expect(lookMs(heard.state, [hot], 100_000)).toBe(Infinity);
    expect(lookMs(heard.state, [gone], 100_000)).toBe(160_000);
    expect(lookMs(looked(heard, [gone], true, 120_000).state, [gone], 120_000)).toBe(120_000 + lookAgainMs);
    expect(lookMs(looked(heard, [gone], false, 160_000).state, [gone], 160_000)).toBe(160_000 + lookAgainMs);
    const patient = { ...gone, monitorId: 'p', offline: { ...silence, timeoutMs: 61_000 } };
    expect(lookMs(looked(heard, [gone, patient], false, 160_000).state, [gone, patient], 160_000)).toBe(161_000);
  });
});

it('an alert with the longest of everything fits into an event', () => {
  const message = '"'.repeat(maxAlertMessageBytes);
  const monitor = { ...hot, metric: '\u0001'.repeat(256), threshold: { ...plain, min: -1.234_567_890_123_4e-300, message } };
  const sourceId = 's'.repeat(256);
  const batch = { ...aBatch([[1e14, 1.234_567_890_123_4e300]], 1e14, monitor.metric), sourceId };
  const { alerts } = points({ ...start, state: unwatched('o', sourceId) }, [monitor], batch);
  const [event] = alertEvents({ orgId: 'o', sourceId, alerts }, 1e14).events;
  expect(Buffer.byteLength(event!.value)).toBeLessThanOrEqual(maxEventValueBytes);
});

/** The rules in ten lines: an alert is open from a point that ends a run of points outside which is long enough, to the next one inside. */
function firings({ min, max, clearMin, clearMax, forMs }: Threshold, all: readonly Point[]): string[] {
  const isOutside = ([, v]: Point): boolean => v > (max ?? Infinity) || v < (min ?? -Infinity);
  const isInside = ([, v]: Point): boolean => v <= (clearMax ?? max ?? Infinity) && v >= (clearMin ?? min ?? -Infinity);
  const runOf = (end: number): number => all.slice(0, end + 1).findLastIndex((point) => !isOutside(point)) + 1;
  const lines: string[] = [];
  for (const [at, point] of all.entries()) {
    const isOpen = lines.at(-1)?.startsWith('fired') ?? false;
    if (isOpen && isInside(point)) lines.push(`inside ${point[0]}`);
    if (!isOpen && isOutside(point) && point[0] - all[runOf(at)]![0] >= forMs) lines.push(`fired ${point[0]}`);
  }
  return lines;
}

const thresholds = fc.record({
  min: fc.constantFrom(null, 2),
  max: fc.constantFrom(null, 7),
  clearMin: fc.constantFrom(null, 3),
  clearMax: fc.constantFrom(null, 6),
  forMs: fc.constantFrom(0, 1, 5, 20),
});

describe('what is told of any points at distinct times, in order of time', () => {
  const histories = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 })), { maxLength: 60 }).map((steps) => {
    let timeMs = 0;
    return steps.map(([waitMs, value]): Point => [(timeMs += waitMs), value]);
  });

  it('is what the rules say, however they are cut into records, and whatever a crash delivers again', () => {
    const crashes = fc.array(fc.record({ takes: fc.nat(9), writes: fc.boolean(), back: fc.nat(3) }), { maxLength: 30 });
    fc.assert(
      fc.property(thresholds, histories, crashes, (bounds, all, course) => {
        const monitor = { ...hot, threshold: { ...plain, ...bounds } };
        const written = new Map<string, string>();
        /** What the log holds, and what the memory of the process holds beside it. */
        let [durable, memory] = [start.state, start.state];
        const take = (from: number, to: number): void => {
          for (const { state, alerts } of afterPoints(memory, [monitor], aBatch(all.slice(from, to)))) {
            memory = state;
            // Transitions are durable with the state that made them.
            if (alerts.length > 0) durable = state;
            for (const line of told({ state, alerts }).values()) {
              expect(written.has(line)).toBe(false);
              written.set(line, line);
            }
          }
        };
        let at = 0;
        for (const { takes, writes, back } of course) {
          take(at, at + takes);
          if (writes) durable = memory;
          at = Math.min(all.length, at + takes);
          if (back === 0) continue;
          // What comes again begins at most where the durable state ends.
          [memory, at] = [durable, 0];
        }
        take(at, all.length);
        expect([...written.keys()]).toEqual(firings(monitor.threshold, all));
      }),
      { numRuns: 500 },
    );
  });
});

describe('what is told of points that are late, ahead or come twice, while the definition changes', () => {
  type Happening =
    | { readonly kind: 'points'; readonly atMs: number; readonly points: readonly Point[] }
    /** Null: the monitor is deleted. */
    | { readonly kind: 'defined'; readonly atMs: number; readonly max: number | null };

  /** The rules in ten lines, without steps, states and crashes. */
  function fold(all: readonly Happening[]): string[] {
    const lines: string[] = [];
    let [definedMs, max, newestMs, openMs]: [number, number | null, number, number | null] = [0, null, 0, null];
    /** When the alert fired that an older definition has left open: it ends at the next record. */
    let leftMs: number | null = null;
    for (const one of all) {
      if (one.kind === 'defined') {
        leftMs ??= openMs;
        [definedMs, max, newestMs, openMs] = [one.atMs, one.max, 0, null];
        continue;
      }
      if (leftMs !== null) lines.push(max === null ? `deleted ${Math.max(one.atMs, leftMs)}` : `changed ${Math.max(definedMs, leftMs)}`);
      leftMs = null;
      if (max === null || one.atMs < definedMs) continue;
      const before = newestMs;
      for (const [timeMs, value] of one.points.toSorted(([a], [b]) => a - b)) {
        if (timeMs <= before || timeMs > one.atMs + maxAheadMs) continue;
        newestMs = timeMs;
        if (value > max === (openMs !== null)) continue;
        lines.push(`${value > max ? 'fired' : 'inside'} ${timeMs}`);
        openMs = value > max ? timeMs : null;
      }
    }
    return lines;
  }

  const value = fc.integer({ min: 0, max: 9 });
  const offsetMs = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -30, max: 30 }) },
    { weight: 1, arbitrary: fc.constantFrom(maxAheadMs + 1) },
  );
  const happenings = fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: fc.uniqueArray(fc.tuple(offsetMs, value), { maxLength: 8, selector: ([timeMs]) => timeMs }) },
        { weight: 1, arbitrary: fc.constantFrom(3, 5, 7, null) },
      ),
      { maxLength: 40 },
    )
    .map((all) =>
      all.map((one, at): Happening => {
        const atMs = 1000 + 10 * at;
        if (typeof one !== 'object' || one === null) return { kind: 'defined', atMs, max: one };
        return { kind: 'points', atMs, points: one.map(([offset, its]): Point => [atMs + offset, its]) };
      }),
    );
  /** For each happening: how many steps of its record are written before the process dies, and how many records before it come again. */
  const courses = fc.array(fc.record({ survives: fc.nat(3), again: fc.nat(2) }), { minLength: 40, maxLength: 40 });

  it('is what the rules say, whatever step the process dies at', () => {
    fc.assert(
      fc.property(happenings, courses, (all, course) => {
        let durable = start.state;
        let monitors: readonly Monitor[] = [];
        const lines: string[] = [];
        /** Writes the steps of a record one by one, and dies behind so many of them. */
        const take = (batch: PointBatch, survives: number): void => {
          let steps = 0;
          for (const { state, alerts } of afterPoints(durable, monitors, batch)) {
            if (steps++ >= survives) return;
            durable = state;
            lines.push(...told({ state, alerts }));
          }
        };
        const records: PointBatch[] = [];
        for (const [at, one] of all.entries()) {
          if (one.kind === 'defined') {
            const threshold = { ...plain, max: one.max };
            monitors = one.max === null ? [] : [{ ...hot, threshold, definedMs: one.atMs }];
            continue;
          }
          const batch = aBatch(one.points, one.atMs);
          const { survives, again } = course[at]!;
          take(batch, survives);
          take(batch, Infinity);
          records.push(batch);
          for (const before of records.slice(-1 - again)) take(before, Infinity);
        }
        expect(lines).toEqual(fold(all));
      }),
      { numRuns: 400 },
    );
  });
});

describe('what is told of a source that several monitors watch, for its values and for its silence', () => {
  type Happening =
    /** Without points: an event. */
    | { readonly kind: 'sent'; readonly atMs: number; readonly points: readonly Point[] | null }
    | {
        readonly kind: 'looked';
        readonly atMs: number;
        readonly wasConnected: boolean;
        readonly isConnected: boolean;
        readonly caughtUpMs: number;
      }
    /** A monitor is defined again. */
    | { readonly kind: 'defined'; readonly atMs: number; readonly monitorId: string };

  /** The points that are neither late nor ahead. */
  function counting(all: readonly Happening[]): readonly Point[] {
    const its: Point[] = [];
    for (const one of all) {
      const newestMs = its.at(-1)?.[0] ?? 0;
      const counts = ([timeMs]: Point): boolean => timeMs > newestMs && timeMs <= one.atMs + maxAheadMs;
      if (one.kind === 'sent' && one.points) its.push(...one.points.filter(counts).toSorted(([x], [y]) => x - y));
    }
    return its;
  }

  /** The rules of silence in ten lines: an alert is open from when it is known that nothing came for so long, to what comes next. */
  function silences({ timeoutMs }: Offline, definedMs: number, all: readonly Happening[]): readonly string[] {
    const lines: string[] = [];
    let heardMs = definedMs;
    for (const one of all) {
      const isOpen = lines.at(-1)?.startsWith('fired') ?? false;
      if (one.kind === 'sent' || (one.kind === 'looked' && one.wasConnected && !one.isConnected)) heardMs = one.atMs;
      if (isOpen && (one.kind === 'sent' || (one.kind === 'looked' && one.isConnected))) lines.push(`heard ${one.atMs}`);
      if (isOpen || one.kind !== 'looked' || one.isConnected || one.caughtUpMs < heardMs + timeoutMs) continue;
      lines.push(`fired ${one.caughtUpMs}`);
    }
    return lines;
  }

  /** Each definition by itself: it begins with nothing known, and what it leaves open closes with it. */
  function expected({ monitorId, threshold, offline }: Monitor, all: readonly Happening[]): readonly string[] {
    const starts = all.flatMap((one, at) => (one.kind === 'defined' && one.monitorId === monitorId ? [at] : []));
    return [0, ...starts].flatMap((from, nth) => {
      const its = all.slice(from, starts[nth]);
      const endMs = nth < starts.length ? all[starts[nth]!]!.atMs : undefined;
      const both = [
        threshold ? firings(threshold, counting(its)) : [],
        offline ? silences(offline, nth === 0 ? 1 : its[0]!.atMs, its) : [],
      ];
      return both.flatMap((lines) => {
        const [way, ms] = lines.at(-1)?.split(' ') ?? [];
        return endMs !== undefined && way === 'fired' ? [...lines, `changed ${Math.max(endMs, Number(ms))}`] : lines;
      });
    });
  }

  const offsetMs = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -30, max: 30 }) },
    { weight: 1, arbitrary: fc.constantFrom(maxAheadMs, maxAheadMs + 1) },
  );
  const value = fc.integer({ min: 0, max: 9 });
  const sentPoints = fc.uniqueArray(fc.tuple(offsetMs, value), { maxLength: 20, selector: ([timeMs]) => timeMs });
  const look = fc.record({ isConnected: fc.boolean(), lagMs: fc.constantFrom(0, 0, 7, Infinity) });
  const ids = ['banded', 'mixed', 'patient', 'gone'] as const;
  const happenings = fc
    .array(
      fc.tuple(
        fc.integer({ min: 1, max: 30 }),
        fc.oneof(
          { weight: 6, arbitrary: sentPoints },
          { weight: 1, arbitrary: fc.constant(null) },
          { weight: 6, arbitrary: look },
          { weight: 1, arbitrary: fc.constantFrom(...ids) },
        ),
      ),
      { maxLength: 40 },
    )
    .map((all) => {
      let [atMs, wasConnected] = [1000, false];
      return all.map(([waitMs, one]): Happening => {
        atMs += waitMs;
        if (typeof one === 'string') return { kind: 'defined', atMs, monitorId: one };
        if (one === null) return { kind: 'sent', atMs, points: null };
        if ('lagMs' in one) {
          const looking = { kind: 'looked', atMs, wasConnected, isConnected: one.isConnected, caughtUpMs: atMs - one.lagMs } as const;
          wasConnected = one.isConnected;
          return looking;
        }
        return { kind: 'sent', atMs, points: one.map(([offset, its]): Point => [atMs + offset, its]) };
      });
    });
  /**
   * For each happening: how many steps of its record are done before the process dies, whether what it knows is written then, and how many
   * records come again beside those that nobody has written.
   */
  const courses = fc.array(fc.record({ survives: fc.constantFrom(0, 1, 2, Infinity, Infinity), writes: fc.boolean(), again: fc.nat(3) }), {
    minLength: 40,
    maxLength: 40,
  });
  const timeoutMs = fc.constantFrom(1, 20, 60);

  it('is what the rules say of each monitor, whatever step the process dies at', () => {
    fc.assert(
      fc.property(happenings, courses, thresholds, thresholds, timeoutMs, timeoutMs, (all, course, banded, mixed, short, long) => {
        // Messages this long leave room for few alerts in a step.
        const message = 'x'.repeat(maxAlertMessageBytes);
        let monitors: readonly Monitor[] = [
          { ...hot, monitorId: 'banded', threshold: { ...plain, message, ...banded } },
          {
            ...hot,
            monitorId: 'mixed',
            sourceId: '*',
            threshold: { ...plain, message, ...mixed },
            offline: { ...silence, timeoutMs: short },
          },
          { ...hot, monitorId: 'patient', threshold: { ...plain, message, max: 5, clearMax: 2, forMs: 10 } },
          { ...gone, monitorId: 'gone', offline: { ...silence, timeoutMs: long } },
        ];
        const defined = monitors;
        const decided: Alert[] = [];
        let [durable, memory] = [start.state, start.state];
        /** Records that `durable` knows all of. */
        let written = 0;
        const records: Extract<Happening, { kind: 'sent' }>[] = [];
        const keep = ({ state, alerts }: Step): void => {
          memory = state;
          // Transitions are durable with the state that made them.
          if (alerts.length > 0) durable = state;
          decided.push(...alerts);
        };
        const write = (): void => {
          [durable, written] = [memory, records.length];
        };
        /** False when the process dies on the way. */
        const take = ({ atMs, points: its }: (typeof records)[number], survives: number): boolean => {
          let steps = 0;
          for (const step of its ? afterPoints(memory, monitors, aBatch(its, atMs)) : afterSending(memory, monitors, atMs)) {
            if (steps++ === survives) return false;
            keep(step);
          }
          return true;
        };
        let isConnected = false;
        for (const [at, one] of all.entries()) {
          const { survives, writes, again } = course[at]!;
          if (one.kind === 'sent') {
            records.push(one);
            if (!take(one, survives)) {
              memory = durable;
              for (const record of records.slice(Math.max(0, written - again))) take(record, Infinity);
            }
            if (writes) write();
            continue;
          }
          if (one.kind === 'defined')
            monitors = monitors.map((each) => (each.monitorId === one.monitorId ? { ...each, definedMs: one.atMs } : each));
          else isConnected = one.isConnected;
          const caughtUpMs = one.kind === 'looked' ? one.caughtUpMs : -Infinity;
          for (const step of afterLooking(memory, monitors, isConnected, one.atMs, caughtUpMs)) keep(step);
          // What was seen in a look comes from no record again.
          write();
        }
        for (const monitor of defined) {
          const its = decided.filter(({ monitorId }) => monitorId === monitor.monitorId);
          const [values, silent] = [its.filter(({ threshold }) => threshold), its.filter(({ offline }) => offline)];
          expect([...told({ ...start, alerts: values }), ...told({ ...start, alerts: silent })].toSorted()).toEqual(
            expected(monitor, all).toSorted(),
          );
        }
      }),
      { numRuns: 400 },
    );
  });
});
