import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Commands, deciderOf, monitorsArea, type Asking } from '#edge';
import { deliver, entry, LogViews, readLog, Runner, type RecordLog, type Views } from '#log';
import { forever, maxCommandMs, TelemetryError, type AuditEntry, type Lease, type Monitor, type MonitorCommand } from '#model';
import { audit, decisions, decisionsGroup, monitorCommands, monitorKey, monitors, outcomes } from '#topics';
import type { LogUnderTest } from './record-log.contract.js';
import { until } from './until.js';
import { withMethods } from './with-methods.js';

const late = { code: 'log_unavailable', retryAfterS: 1 };
const unavailable = (): TelemetryError => new TelemetryError('log_unavailable', 'The log is away.');
const by = { id: 'key_1', name: 'press' };

const threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' } as const;
const ofSource = (sourceId: string): MonitorCommand['definition'] & {} => ({ name: '', sourceId, metric: 'm', threshold, offline: null });
const defining = (monitorId: string, sourceId = monitorId): Asking<MonitorCommand> => ({
  orgId: 'o',
  by,
  monitorId,
  does: 'define',
  definition: ofSource(sourceId),
  basedOnMs: null,
});
const deleting = (monitorId: string): Asking<MonitorCommand> => ({
  orgId: 'o',
  by,
  monitorId,
  does: 'delete',
  definition: null,
  basedOnMs: null,
});
const asked = (asking: Asking<MonitorCommand>, id: string): MonitorCommand => ({ ...asking, id, askedMs: Date.now() });

/** What `Commands` and the group `decisions` promise together, on the log of an adapter; by the monitors, which are one area of many. */
export function decisionsContract(open: () => Promise<LogUnderTest>): void {
  let subject: LogUnderTest;
  let commands: Commands;
  let runners: Runner[];
  const use = async (next: LogUnderTest): Promise<void> => {
    subject = next;
    runners = [];
    commands = new Commands(subject.views, subject.log, Date.now);
    await subject.views.open(monitors).ready;
  };
  beforeEach(async () => use(await open()));
  afterEach(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    await subject.close();
  });

  const decider = (log = subject.log, views: Views = subject.views) => deciderOf(decisionsGroup, log, views, Date.now);
  const decide = async (log = subject.log, views: Views = subject.views): Promise<Runner> => {
    const runner = new Runner(log, decider(log, views), { checkpointMs: 1e6, tickMs: 50, report: () => {} });
    runners.push(runner);
    await runner.start();
    return runner;
  };
  const carryOut = async (asking: Asking<MonitorCommand>, its = commands): Promise<string> =>
    Object.values(await its.carryOut(monitorsArea, asking)).join(' ');
  const ids = (): string[] => Array.from(subject.views.open(monitors).scan('o/'), ([, { monitorId }]) => monitorId);
  /** Everything in the topics of effects, each copy once. */
  const written = async (): Promise<{ readonly monitors: Set<string>; readonly audit: Map<string, AuditEntry> }> => {
    const found = { monitors: new Set<string>(), audit: new Map<string, AuditEntry>() };
    await readLog(subject.log, {
      topics: [monitors, audit],
      from: 'beginning',
      take: (records) => {
        for (const { topic, key, value } of records)
          if (topic.name === audit.name) found.audit.set((value as AuditEntry).id, value as AuditEntry);
          else found.monitors.add(value ? `${key} ${(value as Monitor).definedMs}` : key);
      },
    });
    return found;
  };
  const told = (id: string): Promise<unknown> =>
    subject.views.open(outcomes).until('monitors/o', (all) => all?.told.some((one) => one.id === id) ?? false, 30_000);
  const decided = (id: string): Promise<unknown> =>
    subject.views.open(decisions).until('monitors/o', (all) => all?.decided.some((one) => one.id === id) ?? false, 30_000);
  /** A log in which the effects of decisions cannot be appended, while the decisions can. */
  const withoutEffects = (): RecordLog =>
    withMethods(subject.log, {
      append: (entries) =>
        entries.some(({ topic }) => topic.name === monitors.name) ? Promise.reject(unavailable()) : subject.log.append(entries),
      appendBytes: () => Promise.reject(unavailable()),
    });

  it('of two callers at once the second is decided on what the first has made, and both see it at once', async () => {
    await decide();
    const others = new Commands(subject.views, subject.log, Date.now);
    const made = await Promise.all([carryOut(defining('a', 's')), carryOut(defining('b', 's'), others)]);
    expect(new Set(made)).toEqual(new Set([`defined ${ids()[0]}`]));
    expect(ids()).toHaveLength(1);
    const [id] = ids();
    const gone = await Promise.all([carryOut(deleting(id!)), carryOut(deleting(id!), others)]);
    expect([gone.toSorted(), ids()]).toEqual([[`deleted ${id}`, `unknown_monitor ${id}`], []]);
  });

  it('each change is in the audit log once, with who has made it, and nothing of what is refused', async () => {
    await decide();
    for (const asking of [defining('a'), defining('a'), deleting('a'), deleting('a')]) await carryOut(asking);
    const entries = [...(await written()).audit.values()];
    expect(entries).toMatchObject([
      { orgId: 'o', by, did: 'monitor.created', about: 'a', text: 'm of a' },
      { orgId: 'o', by, did: 'monitor.deleted', about: 'a' },
    ]);
  });

  it('many callers at once are all served, of many organizations', async () => {
    const runner = await decide();
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, at) => commands.carryOut(monitorsArea, { ...defining(`m${at}`), orgId: `o${at % 25 ? 1 : at}` })),
    );
    expect(new Set(all.map(({ word }) => word))).toEqual(new Set(['defined']));
    expect(runner.figures()).toMatchObject({ failures: 0, parked: 0 });
  });

  it('who changes more at once than is decided in time is told so at once, and nobody else', async () => {
    const away = withMethods(subject.log, { append: () => Promise.reject(unavailable()) });
    const its = new Commands(subject.views, away, Date.now);
    const code = (asking: Asking<MonitorCommand>): Promise<string> => carryOut(asking, its).catch((error: TelemetryError) => error.code);
    const beganMs = performance.now();
    const all = Array.from({ length: 1000 }, (_, at) => code(defining(`m${at}`)));
    const seconds = (performance.now() - beganMs) / 1000;
    const codes = await Promise.all(all);
    expect(new Set(codes.slice(0, 600))).toEqual(new Set(['log_unavailable']));
    expect(new Set(codes)).toEqual(new Set(['log_unavailable', 'over_rate']));
    // And those of the time that it took to ask.
    expect(codes.filter((one) => one === 'log_unavailable').length).toBeLessThanOrEqual(601 + 60 * seconds);
    expect(await code({ ...defining('m'), orgId: 'other' })).toBe('log_unavailable');
  });

  it('nothing is decided on what is not all known yet', async () => {
    let gate = Promise.resolve();
    const follow: RecordLog['follow'] = ({ take, ...options }) =>
      subject.log.follow({ ...options, take: (records) => gate.then(() => take(records)) });
    const behind = new LogViews({ follow }, [monitors]);
    const view = behind.open(monitors);
    await view.ready;
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const known: Monitor = { ...ofSource('s'), orgId: 'o', monitorId: 'known', createdMs: 1, definedMs: 1 };
    await subject.log.append([entry(monitors, known)]);
    const caughtUp = (): Promise<void> => {
      resolve();
      return view.caughtUp();
    };
    await decide(
      subject.log,
      withMethods(behind as Views, {
        open: ((topic) => (topic.name === monitors.name ? withMethods(view, { caughtUp }) : subject.views.open(topic))) as Views['open'],
      }),
    );
    expect(await carryOut(defining('a', 's')).finally(resolve)).toBe('defined known');
  });

  it('while nobody decides callers are told so in time, and nothing is made of it later', async () => {
    const startMs = performance.now();
    for (const { reason } of (await Promise.allSettled([carryOut(defining('a')), carryOut(defining('b'))])) as PromiseRejectedResult[])
      expect(reason).toMatchObject(late);
    expect(performance.now() - startMs).toBeLessThan(maxCommandMs + 2_000);
    await (await decide()).caughtUp();
    expect([await carryOut(defining('c')), ids()]).toEqual(['defined c', ['c']]);
  });

  it('a command that comes again has no second effect, nor one after a crash', async () => {
    await decide();
    const command = entry(monitorCommands, asked(defining('a'), 'c1'));
    await subject.log.append([command, command]);
    await told('c1');
    expect(await carryOut(deleting('a'))).toBe('deleted a');
    await use(await subject.crash());
    await subject.log.append([command]);
    await (await decide()).caughtUp();
    await subject.views.open(monitors).caughtUp();
    expect([(await written()).audit.size, ids()]).toEqual([2, []]);
  });

  it.each(['made', 'deleted'])('what a crash parts from its decision is %s by whoever decides next, and told then', async (what) => {
    const known: Monitor = { ...ofSource('a'), orgId: 'o', monitorId: 'a', createdMs: 1, definedMs: 1 };
    if (what === 'deleted') await subject.log.append([entry(monitors, known)]);
    await decide(withoutEffects());
    await subject.log.append([entry(monitorCommands, asked(what === 'made' ? defining('a') : deleting('a'), 'c1'))]);
    await decided('c1');
    await use(await subject.crash());
    expect(ids()).toEqual(what === 'made' ? [] : ['a']);
    await decide();
    await told('c1');
    await subject.views.open(monitors).caughtUp();
    expect([ids(), [...(await written()).audit.keys()]]).toEqual([what === 'made' ? ['a'] : [], ['c1/0']]);
  });

  it('what was given under a lease that is lost is left to who has the next', async () => {
    const losing = decider();
    await losing.table.begin(forever, [0]);
    const value = asked(defining('a'), 'c1');
    const record = { topic: monitorCommands, partition: 0, offset: 0, key: 'o', value, appendedMs: 1, headers: {}, bytes: 1 };
    await deliver(losing, [record], { held: () => false });
    expect(losing.table.get('monitors/o')).toBeUndefined();
    await deliver(losing, [record], forever);
    expect(losing.table.get('monitors/o')).toMatchObject({ decided: [{ id: 'c1', outcome: 'defined' }] });
  });

  it('what is decided under a lost lease has no effect, and is decided by who has the next', async () => {
    let held = true;
    const lease: Lease = { held: () => held };
    const losing = withMethods(subject.log, {
      consume: ({ handler, given, ...options }) =>
        subject.log.consume({ ...options, given: (_, its) => given?.(lease, its), handler: (records) => handler(records, lease) }),
      append: (entries) => (entries.some(({ topic }) => topic.name === decisions.name) ? Promise.reject(unavailable()) : Promise.resolve()),
    });
    const loser = await decide(losing);
    await subject.log.append([entry(monitorCommands, asked(defining('a'), 'c1'))]);
    await until('it cannot write its decision', () => loser.figures().failures > 0);
    held = false;
    await use(await subject.crash());
    expect([...(await written()).monitors]).toEqual([]);
    await decide();
    await told('c1');
    const { monitors: made } = await written();
    expect([made.size, [...made][0]?.startsWith(monitorKey({ orgId: 'o', monitorId: 'a' }))]).toEqual([1, true]);
  });
}
