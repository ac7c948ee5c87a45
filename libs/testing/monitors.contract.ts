import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Connections } from '#edge';
import { entry, LogViews, Runner, tombstone, type Entry, type RecordLog, type View, type Views } from '#log';
import {
  maxAlertMessageBytes,
  maxMonitorsPerSource,
  TelemetryError,
  type Alert,
  type AlertBatch,
  type EventBatch,
  type Lease,
  type Monitor,
  type Threshold,
} from '#model';
import { alerts, deletionOf, events, gateways, monitorKey, monitors, monitorStates, points, presence, sources } from '#topics';
import { KnownSources } from '../../apps/processors/known-sources.js';
import { MonitorDefinitions } from '../../apps/processors/monitor-definitions.js';
import { MonitorWatch } from '../../apps/processors/monitor-watch.js';
import { OpenAlerts } from '../../apps/processors/open-alerts.js';
import { LogReader } from './log-reader.js';
import type { LogUnderTest } from './record-log.contract.js';
import { withMethods } from './with-methods.js';

const threshold: Threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: 'hot' };
const hot: Monitor = {
  orgId: 'o',
  monitorId: 'hot',
  name: '',
  sourceId: 's',
  metric: 'heat',
  threshold,
  offline: null,
  createdMs: 1,
  definedMs: 1,
};
const offline = { timeoutMs: 60_000, severity: 'critical', message: 'gone' } as const;
const gone: Monitor = { ...hot, monitorId: 'gone', sourceId: '*', metric: null, threshold: null, offline };

type Point = readonly [timestampMs: number, value: number];
const sending = (receivedMs: number, its: readonly Point[], sourceId = 's'): Entry => {
  const columns = [0, 1].map((column) => Float64Array.from(its, (point) => point[column]!)) as [Float64Array, Float64Array];
  const [timestampMs, value] = columns;
  return entry(points, { orgId: 'o', sourceId, receivedMs, series: [{ metric: 'heat', tags: '', timestampMs, value }] });
};
const line = ({ monitorId, resolution, resolvedMs, triggeredMs }: Alert): string =>
  `${monitorId} ${resolution ?? 'fired'} ${resolvedMs ?? triggeredMs}`;

/** Lets everything through until a number of steps are done; then nothing more, as in a process that is about to die. */
class Dying {
  readonly died = Promise.withResolvers<void>();
  isDead = false;
  #steps = 0;

  /** @param last the step that has no effect any more. */
  constructor(private readonly last: number) {}

  get steps(): number {
    return this.#steps;
  }

  async step<T>(work: () => Promise<T>): Promise<T> {
    if (++this.#steps === this.last) this.isDead = true;
    return this.isDead ? this.#die() : work();
  }

  #die(): never {
    this.died.resolve();
    throw new TelemetryError('log_unavailable', 'The process dies.');
  }
}

/**
 * What the reactor of monitors promises, on the log of an adapter.
 *
 * @param isShort only what a log can break, with one crash: for a log on which each test takes seconds.
 */
export function monitorsContract(open: () => Promise<LogUnderTest>, isShort = false): void {
  let subject: LogUnderTest;
  let runner: Runner;
  let nowMs: number;
  beforeEach(async () => {
    subject = await open();
    nowMs = 1000;
  });
  afterEach(async () => {
    await runner.stop();
    await subject.close();
  });

  const clock = (): number => nowMs;
  const run = async (
    log: RecordLog = subject.log,
    definitions: Pick<Views, 'open'> = subject.views,
    openAlerts = new OpenAlerts(),
  ): Promise<void> => {
    const { views } = subject;
    const defined = new MonitorDefinitions(definitions as Views, clock);
    const reactor = new MonitorWatch(log, defined, new KnownSources(views), new Connections(views, clock), clock, openAlerts);
    runner = new Runner(log, reactor, { checkpointMs: 1e6, tickMs: 1e6, clock, report: () => {} });
    await runner.start();
  };
  /** Resolves when everything in the log is processed, and the reactor has looked at the time with that known. */
  const settle = async (): Promise<void> => {
    await subject.views.open(monitors).caughtUp();
    await subject.views.open(presence).caughtUp();
    for (let ticks = 0; ticks < 3; ticks++) {
      await runner.caughtUp();
      await runner.tick();
    }
  };
  const append = (...entries: Entry[]): Promise<void> => subject.log.append(entries);
  const all = async <V>(topic: { name: string }): Promise<readonly V[]> => {
    const reader = LogReader.of(subject.log, { topics: [topic === alerts ? alerts : events], from: 'beginning', to: 'end' });
    await reader.following.caughtUp();
    return reader.records.map(({ value }) => value as V);
  };
  /** Every transition once, in the order of its first record. A record that comes again has to say the same. */
  const told = async (): Promise<readonly string[]> => {
    const seen = new Map<string, Alert>();
    for (const { alerts: its } of await all<AlertBatch>(alerts)) {
      for (const alert of its) {
        const transition = `${alert.alertId} ${alert.resolvedMs === null}`;
        if (seen.has(transition)) expect(alert).toEqual(seen.get(transition));
        seen.set(transition, alert);
      }
    }
    return [...seen.values()].map(line);
  };
  /** The same of the events of the sources. */
  const toldInLogs = async (): Promise<readonly string[]> => {
    const batches = (await all<EventBatch>(events)).filter(({ origin }) => origin === 'service');
    const lines = batches.flatMap((batch) =>
      batch.events.map(({ metric, timestampMs, value }) => {
        const { monitor_id: monitorId, resolved_by: way = 'fired' } = JSON.parse(value) as Record<string, string>;
        expect(metric).toBe(way === 'fired' ? 'alert.triggered' : 'alert.resolved');
        return `${monitorId} ${way} ${timestampMs}`;
      }),
    );
    return [...new Set(lines)];
  };

  it('begins with what comes after it has first run', async () => {
    await append(entry(monitors, hot), sending(500, [[1, 99]]));
    await run();
    await append(sending(600, [[2, 10]]));
    await settle();
    expect(await told()).toEqual([]);
    await append(sending(700, [[3, 99]]));
    await settle();
    expect([await told(), await toldInLogs()]).toEqual([['hot fired 3'], ['hot fired 3']]);
  });

  it('evaluates the first point after a definition, however late it hears of the definition', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let gate = Promise.resolve();
    const follow: RecordLog['follow'] = ({ take, ...options }) =>
      subject.log.follow({ ...options, take: (records) => gate.then(() => take(records)) });
    const view = new LogViews({ follow }, [monitors]).open(monitors);
    await view.ready;
    gate = promise;
    const caughtUp = (): Promise<void> => {
      resolve();
      return view.caughtUp();
    };
    await run(subject.log, { open: () => withMethods(view, { caughtUp }) as View<unknown> as View<never> });
    await append(entry(monitors, hot), sending(1000, [[1, 99]]));
    await runner.caughtUp().finally(resolve);
    await settle();
    expect(await told()).toEqual(['hot fired 1']);
  });

  describe('a source that nothing comes from', () => {
    beforeEach(async () => {
      await run();
      await append(entry(monitors, gone), sending(nowMs, [[1, 1]]));
      await settle();
    });

    it('is offline after its time, once, and is back when it sends', async () => {
      nowMs = 60_999;
      await settle();
      expect(await told()).toEqual([]);
      for (nowMs = 61_000; nowMs < 70_000; nowMs += 3000) await settle();
      expect(await told()).toEqual(['gone fired 61000']);
      await append(sending(71_000, [[2, 1]]));
      await settle();
      expect(await told()).toEqual(['gone fired 61000', 'gone heard 71000']);
    });

    it('is not offline while it is connected', async () => {
      nowMs = 30_000;
      const connection = { orgId: 'o', sourceId: 's', connectionId: 'c', gatewayId: 'g', connectedMs: nowMs };
      await append(entry(gateways, { gatewayId: 'g', beatMs: nowMs }), entry(presence, connection));
      await subject.views.open(gateways).caughtUp();
      nowMs = 65_000;
      await settle();
      expect(await told()).toEqual([]);
      await append(tombstone(presence, presence.key(connection)));
      nowMs = 70_000;
      await settle();
      nowMs = 129_000;
      await settle();
      expect(await told()).toEqual([]);
      nowMs = 131_000;
      await settle();
      expect(await told()).toEqual(['gone fired 131000']);
    });

    it('is not judged before all that has come is processed', async () => {
      await runner.stop();
      await append(sending(60_000, [[2, 1]]));
      nowMs = 100_000;
      const gate = Promise.withResolvers<void>();
      await run(
        withMethods(subject.log, {
          consume: ({ handler, ...options }) =>
            subject.log.consume({ ...options, handler: (...batch) => gate.promise.then(() => handler(...batch)) }),
        }),
      );
      for (let ticks = 0; ticks < 5; ticks++) await runner.tick();
      expect(await told()).toEqual([]);
      gate.resolve();
      await settle();
      expect(await told()).toEqual([]);
      nowMs = 121_000;
      await settle();
      expect(await told()).toEqual(['gone fired 121000']);
    });
  });

  it('decides nothing under a lost lease', async () => {
    let held = true;
    const lease: Lease = { held: () => held };
    const losing = withMethods(subject.log, {
      consume: ({ handler, given, ...options }) =>
        subject.log.consume({ ...options, given: (_, its) => given?.(lease, its), handler: (records) => handler(records, lease) }),
    });
    await run(losing);
    await append(entry(monitors, hot));
    await settle();
    held = false;
    await append(sending(1000, [[1, 99]]));
    await runner.caughtUp();
    await runner.tick();
    expect([await told(), runner.figures().parked]).toEqual([[], 0]);
    subject = await subject.crash();
    await run();
    await settle();
    expect(await told()).toEqual(['hot fired 1']);
  });

  describe('a crash between any two steps', () => {
    const many = Array.from({ length: 40 }, (_, at): Point => [100 + at, at % 2 === 0 ? 99 : 10]);
    /** Not back inside in the band, and not outside for long enough after the first of many. */
    const slow: Monitor = { ...hot, monitorId: 'slow', sourceId: '*', threshold: { ...threshold, clearMax: 20, forMs: 60 } };
    const lower: Monitor = { ...hot, definedMs: 91_000, threshold: { ...threshold, max: 50 } };
    /** What happens, and at what time. Each is in the log before the next. */
    const course: readonly (readonly [nowMs: number, ...Entry[]])[] = [
      [1000, entry(monitors, hot), entry(monitors, gone), entry(monitors, slow), sending(1000, [[1, 70]])],
      [
        2000,
        sending(1500, [[2, 85]]),
        sending(1600, [
          [3, 10],
          [4, 95],
        ]),
      ],
      [3000, sending(2500, many)],
      [80_000],
      [
        90_000,
        sending(85_000, [
          [200, 99],
          [260, 99],
        ]),
      ],
      [91_000, entry(monitors, lower)],
      [92_000, sending(91_500, [[261, 60]])],
      [93_000, ...[hot, gone, slow].map((monitor) => tombstone(monitors, monitorKey(monitor)))],
    ];
    const expected = [
      'hot fired 2',
      'hot inside 3',
      'hot fired 4',
      // It is open at the first of many, and at the last of them it is not.
      ...many.slice(1).map(([at], index) => `hot ${index % 2 === 0 ? 'inside' : 'fired'} ${at}`),
      'slow fired 100',
      'slow inside 101',
      'gone fired 80000',
      'gone heard 85000',
      'hot fired 200',
      'slow fired 260',
      'hot changed 91000',
      'hot fired 261',
      'slow deleted 93000',
      'hot deleted 93000',
    ];

    /** Runs the course in a process that dies at a step, and then in another one. Resolves with the steps of the first. */
    async function courseOf(dying: Dying): Promise<number> {
      const mortal = withMethods(subject.log, {
        append: (entries) => dying.step(() => subject.log.append(entries)),
        appendBytes: (...record) => dying.step(() => subject.log.appendBytes(...record)),
        consume: async (options) => {
          const subscription = await subject.log.consume(options);
          return withMethods(subscription, { commit: (positions) => dying.step(() => subscription.commit(positions)) });
        },
      });
      await run(mortal);
      let isSecond = false;
      const restart = async (): Promise<void> => {
        isSecond = true;
        subject = await subject.crash();
        await run();
      };
      for (const [at, [ms, ...entries]] of course.entries()) {
        nowMs = ms;
        if (entries.length > 0) await subject.log.append(entries);
        const work = settle().then(() => (at % 2 === 1 ? runner.checkpoint() : undefined));
        await Promise.race([work, ...(isSecond ? [] : [dying.died.promise])]).catch(() => undefined);
        if (dying.isDead && !isSecond) {
          void work.catch(() => undefined);
          await restart();
          await settle();
        }
      }
      await settle();
      return dying.steps;
    }

    it('leaves each transition told once', async () => {
      const steps = await courseOf(new Dying(Infinity));
      expect(await told()).toEqual(expected);
      expect(await toldInLogs()).toEqual(expected);
      expect(steps).toBeGreaterThan(20);
      for (let step = isShort ? steps >> 1 : 1; step <= steps; step += isShort ? steps : 1) {
        await runner.stop();
        await subject.close();
        subject = await open();
        await courseOf(new Dying(step));
        const found = { step, alerts: (await told()).toSorted(), logs: (await toldInLogs()).toSorted() };
        expect(found).toEqual({ step, alerts: expected.toSorted(), logs: expected.toSorted() });
      }
    }, 300_000);
  });

  if (isShort) return;

  it('tells all of a record with more transitions than fit into one record', async () => {
    await run();
    const many = Array.from({ length: 300 }, (_, at): Point => [at + 1, at % 2 === 0 ? 99 : 10]);
    await append(entry(monitors, hot), sending(1000, many));
    await settle();
    expect([await told(), runner.figures().parked]).toEqual([many.map(([at], n) => `hot ${n % 2 === 0 ? 'fired' : 'inside'} ${at}`), 0]);
    expect(await toldInLogs()).toHaveLength(many.length);
  });

  it('writes the transitions of many records in few calls', async () => {
    let calls = 0;
    const counted = withMethods(subject.log, {
      append: (entries) => {
        calls++;
        return subject.log.append(entries);
      },
    });
    await append(entry(monitors, hot));
    await run(counted);
    await settle();
    const many = Array.from({ length: 40 }, (_, at): Point => [at + 1, at % 2 === 0 ? 99 : 10]);
    await append(...many.map((point) => sending(1000, [point])));
    await settle();
    expect(await told()).toHaveLength(many.length);
    // A record of the table, one of alerts, and events, for what one record of the table can hold.
    expect((await all(alerts)).length).toBeLessThan(many.length / 8);
    expect(calls).toBeLessThan(many.length / 2);
  });

  it('tells all that many monitors of a source say at once, when they fire and when they end', async () => {
    const message = 'x'.repeat(maxAlertMessageBytes);
    const many = Array.from({ length: maxMonitorsPerSource }, (_, at): Monitor => {
      return { ...hot, monitorId: `m${at}`, metric: `heat${at}`, threshold: { ...threshold, message }, offline: { ...offline, message } };
    });
    const values = (value: number): Entry => {
      const one = { tags: '', timestampMs: Float64Array.of(nowMs), value: Float64Array.of(value) };
      return entry(points, {
        orgId: 'o',
        sourceId: 's',
        receivedMs: nowMs,
        series: many.map(({ metric }) => ({ metric: metric!, ...one })),
      });
    };
    const each = (way: string): string[] => many.map(({ monitorId }) => `${monitorId} ${way} ${nowMs}`);
    await run();
    await append(...many.map((monitor) => entry(monitors, monitor)), values(99));
    await settle();
    const expected = each('fired');
    nowMs = 61_000;
    await settle();
    expected.push(...each('fired'));
    nowMs = 70_000;
    await append(values(10));
    await settle();
    expected.push(...each('heard'), ...each('inside'));
    nowMs = 80_000;
    await append(values(99));
    await settle();
    expected.push(...each('fired'));
    nowMs = 90_000;
    await append(...many.map((monitor) => tombstone(monitors, monitorKey(monitor))));
    await settle();
    expected.push(...each('deleted'));
    expect([(await told()).toSorted(), runner.figures()]).toMatchObject([expected.toSorted(), { parked: 0, failures: 0 }]);
    expect((await toldInLogs()).toSorted()).toEqual([...new Set(expected)].toSorted());
  });

  it('opens no more alerts of an organization than it may have, also where it has taken them over, and others once those have resolved', async () => {
    const two = (): OpenAlerts => new OpenAlerts(2);
    const every: Monitor = { ...hot, sourceId: '*' };
    const ids = ['a', 'b', 'c', 'd'];
    const openOf = async (): Promise<readonly string[]> => {
      const its = (await all<AlertBatch>(alerts)).flatMap((batch) => batch.alerts);
      const ended = new Set(its.filter(({ resolvedMs }) => resolvedMs !== null).map(({ alertId }) => alertId));
      return its.filter(({ alertId }) => !ended.has(alertId)).map(({ sourceId }) => sourceId);
    };
    const say = async (sourceIds: readonly string[], at: number, value: number): Promise<void> => {
      for (const sourceId of sourceIds) await append(sending(1000, [[at, value]], sourceId));
      await settle();
    };
    await run(subject.log, subject.views, two());
    await append(entry(monitors, every), entry(monitors, gone));
    await say(ids, 1, 99);
    const first = await openOf();
    expect(first).toHaveLength(2);
    nowMs = 61_000;
    await settle();
    expect(await openOf()).toEqual(first);
    await runner.checkpoint();
    await runner.stop();
    await run(subject.log, subject.views, two());
    await say(ids, 2, 99);
    expect(await openOf()).toEqual(first);
    await say(first, 3, 10);
    expect(await openOf()).toEqual([]);
    nowMs = 66_000;
    await settle();
    expect(await openOf()).toHaveLength(2);
  });

  describe('a source that is deleted', () => {
    const deleted = (metric: string | null = null): readonly Entry[] => deletionOf({ orgId: 'o', sourceId: 's' }, metric, nowMs);
    const states = async (): Promise<readonly string[]> => {
      await subject.views.open(monitorStates).caughtUp();
      return Array.from(subject.views.open(monitorStates).scan(''), ([key]) => key);
    };
    beforeEach(async () => {
      await run();
      await append(entry(monitors, hot), entry(monitors, gone), sending(nowMs, [[1, 99]]));
      await settle();
      nowMs = 2000;
    });

    it('has its alerts resolved, once, and is not missed', async () => {
      nowMs = 61_000;
      await settle();
      await append(...deleted(), ...deleted());
      await settle();
      nowMs = 600_000;
      await settle();
      expect([await told(), await toldInLogs(), await states()]).toEqual([
        ['hot fired 1', 'gone fired 61000', 'hot deleted 61000', 'gone deleted 61000'],
        ['hot fired 1', 'gone fired 61000'],
        [],
      ]);
    });

    it('is not missed because of an event from before, which is read behind the deletion of its points', async () => {
      const opened = { metric: 'door', timestampMs: 1500, value: 'open', isJson: false, tags: '', place: 0, ordinal: 0 };
      await append(entry(events, { orgId: 'o', sourceId: 's', receivedMs: 1500, origin: 'source', events: [opened] }), ...deleted());
      await settle();
      nowMs = 600_000;
      await settle();
      expect([await told(), await states()]).toEqual([['hot fired 1', 'hot deleted 2000'], []]);
    });

    it('is a new one when it sends again', async () => {
      await append(...deleted(), sending(3000, [[2, 99]]));
      await settle();
      nowMs = 63_000;
      await settle();
      expect(await told()).toEqual(['hot fired 1', 'hot deleted 2000', 'hot fired 2', 'gone fired 63000']);
    });

    it('is missed by a monitor that names it, from then on', async () => {
      await append(entry(monitors, { ...gone, monitorId: 'named', sourceId: 's' }), tombstone(monitors, monitorKey(gone)));
      await settle();
      nowMs = 30_000;
      await append(...deleted());
      await settle();
      nowMs = 89_999;
      await settle();
      expect(await told()).toEqual(['hot fired 1', 'hot deleted 30000']);
      nowMs = 90_000;
      await settle();
      expect(await told()).toEqual(['hot fired 1', 'hot deleted 30000', 'named fired 90000']);
    });

    it('of which only a metric goes has the alerts of that one resolved', async () => {
      await append(...deleted('other'));
      await settle();
      expect(await told()).toEqual(['hot fired 1']);
      await append(...deleted('heat'));
      await settle();
      nowMs = 61_000;
      await settle();
      expect(await told()).toEqual(['hot fired 1', 'hot deleted 2000', 'gone fired 61000']);
      expect(await toldInLogs()).toEqual(await told());
    });
  });

  it('knows nothing of sources that nobody watches, and forgets those that nobody watches any more', async () => {
    const states = subject.views.open(monitorStates);
    await run();
    await append(entry(monitors, hot), sending(1000, [[1, 99]]), sending(1000, [[1, 99]], 'other'));
    await settle();
    await states.caughtUp();
    expect([...states.scan('')].map(([key]) => key)).toEqual(['o/s']);
    await append(tombstone(monitors, monitorKey(hot)));
    await settle();
    await runner.checkpoint();
    await states.caughtUp();
    expect([states.size, await told()]).toEqual([0, ['hot fired 1', 'hot deleted 1000']]);
  });

  describe('a monitor of every source tells of the silence of one that nothing has come from since', () => {
    const source = entry(sources, { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 1 });
    const connection = { orgId: 'o', sourceId: 's', connectionId: 'c', gatewayId: 'g', connectedMs: 1000 };
    const connected = [entry(gateways, { gatewayId: 'g', beatMs: 1000 }), entry(presence, connection)];
    const gone30: Monitor = { ...gone, definedMs: 30_000 };
    const known = async (...entries: Entry[]): Promise<void> => {
      await append(...entries);
      for (const topic of [gateways, presence, sources]) await subject.views.open<unknown>(topic).caughtUp();
      await settle();
    };

    it.each([
      ['sent before', [source], [], 90_000],
      ['is told of only later', [], [source], 90_000],
      ['has only connected before', connected, [], 95_000],
      ['only connects later', [], connected, 95_000],
    ])('when it %s', async (_, before, after, firedMs) => {
      await run();
      await known(...before);
      nowMs = 30_000;
      await known(entry(monitors, gone30));
      await known(...after);
      await known(tombstone(presence, presence.key(connection)));
      nowMs = 35_000;
      await settle();
      nowMs = firedMs - 1000;
      await settle();
      expect(await told()).toEqual([]);
      nowMs = firedMs;
      await settle();
      expect(await told()).toEqual([`gone fired ${firedMs}`]);
    });

    it('when others have had its partition', async () => {
      await append(source, entry(monitors, gone30));
      nowMs = 30_000;
      await run();
      await settle();
      await runner.stop();
      await run();
      nowMs = 90_000;
      await settle();
      expect(await told()).toEqual(['gone fired 90000']);
    });
  });

  it.each([
    ['refuses once to be written', new TelemetryError('log_unavailable', 'The log is away.')],
    ['does not take one of them', new Error('no room')],
  ])('closes the alerts of all sources though the log %s', async (_, error) => {
    let refuses = false;
    const refusing = (entries: readonly Entry[]): Promise<void> => {
      if (!refuses) return subject.log.append(entries);
      refuses = false;
      return Promise.reject(error);
    };
    await run(withMethods(subject.log, { append: refusing }));
    const every: Monitor = { ...hot, sourceId: '*' };
    const ids = ['a', 'b', 'c'];
    await subject.log.append([entry(monitors, every), ...ids.map((sourceId) => sending(1000, [[1, 99]], sourceId))]);
    await settle();
    await subject.log.append([tombstone(monitors, monitorKey(every))]);
    await subject.views.open(monitors).caughtUp();
    refuses = true;
    await expect(runner.tick()).rejects.toBe(error);
    nowMs += 1000;
    await settle();
    await runner.checkpoint();
    const closed = (await all<AlertBatch>(alerts)).flatMap(({ alerts: its }) => its.filter(({ resolution }) => resolution === 'deleted'));
    expect(closed.map(({ sourceId }) => sourceId).toSorted()).toEqual(ids);
    const states = subject.views.open(monitorStates);
    await states.caughtUp();
    expect(states.size).toBe(0);
  });
}
