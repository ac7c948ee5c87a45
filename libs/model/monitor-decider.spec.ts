import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { flawOfMonitorCommand, monitorDecider, type MonitorCommand, type MonitorEvent, type MonitorsState } from './monitor-decider.js';
import { maxMonitors, maxMonitorsPerSource, maxOfflineMonitorsPerSource, type Monitor, type MonitorDefinition } from './monitor.js';

const { initial } = monitorDecider;
const definitionOf = (sourceId: string, metric: string, max: number): MonitorDefinition => ({
  name: '',
  sourceId,
  metric,
  threshold: { min: null, max, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' },
  offline: null,
});
const asked = { orgId: 'o', askedMs: 0, by: { id: '', name: '' } };
const defining = (id: string, definition: MonitorDefinition): MonitorCommand => ({
  ...asked,
  id,
  does: 'define',
  monitorId: `of-${id}`,
  definition,
  basedOnMs: null,
});
const changing = (id: string, monitorId: string, definition: MonitorDefinition, basedOnMs: number): MonitorCommand => ({
  ...asked,
  id,
  does: 'change',
  monitorId,
  definition,
  basedOnMs,
});
const deleting = (id: string, monitorId: string): MonitorCommand => ({
  ...asked,
  id,
  does: 'delete',
  monitorId,
  definition: null,
  basedOnMs: null,
});

interface Written {
  readonly state: MonitorsState;
  readonly events: readonly MonitorEvent[];
}

/** What one writer makes of commands at one time, in their order. */
function written(commands: readonly MonitorCommand[], state: MonitorsState = initial, nowMs = 1): Written {
  const events: MonitorEvent[] = [];
  for (const command of commands) {
    for (const event of monitorDecider.decide(state, command, nowMs)) {
      events.push(event);
      state = monitorDecider.evolve(state, event);
    }
  }
  return { state, events };
}
const outcomes = ({ events }: Written): string[] => events.map(({ outcome }) => outcome);
/** Those of the sources that these tests name, by their ids. */
const monitorsOf = ({ state }: Written): readonly Monitor[] =>
  ['s', 's0', 's1', 's2'].flatMap((source) => state.of(source)).toSorted((a, b) => (a.monitorId < b.monitorId ? -1 : 1));

const [hot, hotter, cold] = [definitionOf('s', 'heat', 80), definitionOf('s', 'heat', 90), definitionOf('s', 'cold', 5)];

describe('monitors of one organization', () => {
  it('are one for each source and metric: the second definition replaces the first', () => {
    const both = written([defining('a', hot), defining('b', hotter), defining('c', cold)]);
    expect(outcomes(both)).toEqual(['defined', 'defined', 'defined']);
    expect(monitorsOf(both).map(({ monitorId, threshold }) => [monitorId, threshold!.max])).toEqual([
      ['of-a', 90],
      ['of-c', 5],
    ]);
    expect(both.events[1]!.monitorId).toBe('of-a');
  });

  it('have a later time with each definition, though the clock stands still', () => {
    const times = written([defining('a', hot), defining('b', hotter), defining('c', hot)]).events.map(({ after }) => after!.definedMs);
    expect(times).toEqual([1, 2, 3]);
  });

  it('stay as they are when the same is defined again', () => {
    const twice = written([defining('a', hot), defining('b', { ...hot })]);
    const [first, second] = twice.events;
    expect(second).toEqual({ outcome: 'defined', monitorId: 'of-a', before: first!.after, after: first!.after });
  });

  it('are changed only from the definition that holds', () => {
    const made = written([defining('a', hot)]);
    expect(outcomes(written([changing('b', 'of-a', hotter, 1), changing('c', 'of-a', hot, 1)], made.state))).toEqual([
      'defined',
      'outdated',
    ]);
    expect(outcomes(written([changing('b', 'of-a', cold, 1)], made.state))).toEqual(['outdated']);
    expect(outcomes(written([changing('b', 'nobody', hot, 1)], made.state))).toEqual(['unknown_monitor']);
  });

  it('end once, and make room', () => {
    const made = written([defining('a', hot)]);
    const gone = written([deleting('b', 'of-a'), deleting('c', 'of-a')], made.state);
    expect([outcomes(gone), monitorsOf(gone)]).toEqual([['deleted', 'unknown_monitor'], []]);
    expect(outcomes(written([defining('d', hot)], gone.state))).toEqual(['defined']);
  });

  it.each([
    ['of a source', maxMonitorsPerSource, (at: number) => definitionOf('s', `m${at}`, 1), 'too_many_of_source'],
    ['of all', maxMonitors, (at: number) => definitionOf(`s${at}`, 'm', 1), 'too_many'],
  ] as const)('have a limit %s, which replacing does not meet', (_, max, nth, outcome) => {
    const full = Array.from({ length: max }, (__, at): Monitor => {
      return { ...nth(at), orgId: 'o', monitorId: `m${at}`, createdMs: 1, definedMs: 1 };
    });
    const state: MonitorsState = {
      count: max,
      find: (id) => full.find(({ monitorId }) => monitorId === id),
      of: (source) => full.filter(({ sourceId }) => sourceId === source),
    };
    const replacing = { ...nth(0), name: 'again' };
    expect(outcomes(written([defining('a', nth(max)), defining('b', replacing)], state))).toEqual([outcome, 'defined']);
    expect(outcomes(written([deleting('a', 'm1'), defining('b', nth(max))], state))).toEqual(['deleted', 'defined']);
  });

  it.each([
    ['a source', 's'],
    ['every source', '*'],
  ])('that watch the silence of %s are ten at most, however a further one is asked for', (_, sourceId) => {
    const offline = { timeoutMs: 10_000, severity: 'warning', message: '' } as const;
    const silent = (at: number): MonitorDefinition => ({ ...definitionOf(sourceId, `m${at}`, 1), offline });
    const ten = Array.from({ length: maxOfflineMonitorsPerSource }, (__, at) => defining(`a${at}`, silent(at)));
    const full = written([...ten, defining('b', definitionOf(sourceId, 'loud', 1))]);
    expect(new Set(outcomes(full))).toEqual(new Set(['defined']));
    const loud = { ...definitionOf(sourceId, 'loud', 1), offline };
    const further = [defining('c', silent(99)), defining('d', loud), changing('e', 'of-b', loud, 1)];
    expect(outcomes(written(further, full.state))).toEqual(['too_many_offline', 'too_many_offline', 'too_many_offline']);
    const others = [
      defining('f', { ...silent(0), name: 'again' }),
      defining('g', { ...silent(0), sourceId: 'other' }),
      deleting('h', 'of-a1'),
    ];
    expect(outcomes(written([...others, ...further.slice(0, 1)], full.state))).toEqual(['defined', 'defined', 'deleted', 'defined']);
  });

  it('every source has a limit of its own', () => {
    const some = Array.from({ length: maxMonitorsPerSource }, (_, at) => defining(`a${at}`, definitionOf('s', `m${at}`, 1)));
    expect(outcomes(written([defining('b', definitionOf('*', 'm', 1))], written(some).state))).toEqual(['defined']);
  });
});

interface Kept {
  readonly id: string;
  readonly source: string;
  readonly max: number;
  readonly definedMs: number;
}

/** What becomes of a command, told from what is kept, in other words than the decider's. */
function expected(kept: readonly Kept[], command: MonitorCommand, nowMs: number): readonly [outcome: string, kept: readonly Kept[]] {
  const { does, monitorId: id, definition, basedOnMs } = command;
  const [source, max] = [definition?.sourceId ?? '', definition?.threshold?.max ?? 0];
  const its = kept.find((one) => (does === 'define' ? one.source === source : one.id === id));
  if (does === 'delete') return its ? ['deleted', kept.filter((one) => one !== its)] : ['unknown_monitor', kept];
  if (does === 'change' && !its) return ['unknown_monitor', kept];
  if (does === 'change' && (its!.definedMs !== basedOnMs || its!.source !== source)) return ['outdated', kept];
  if (!its) return ['defined', [...kept, { id, source, max, definedMs: nowMs }]];
  const next = { ...its, max, definedMs: Math.max(nowMs, its.definedMs + 1) };
  return ['defined', its.max === max ? kept : kept.map((one) => (one === its ? next : one))];
}

const step = fc.record({
  does: fc.constantFrom('define', 'change', 'delete'),
  source: fc.nat(2),
  max: fc.nat(2),
  /** Which of the monitors that were made is meant, and whether the definition that holds is known. */
  of: fc.nat(9),
  isUpToDate: fc.boolean(),
  waitMs: fc.nat(1),
  /** How often a writer dies before what it has decided is in the log. */
  crashes: fc.nat(1),
  /** How often the command comes again. */
  again: fc.nat(1),
});

it('whatever is asked, whoever dies and whatever comes again: what a fold over what was done says', () => {
  const words = new Set<string>();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let state = initial;
      let kept: readonly Kept[] = [];
      let nowMs = 1;
      for (const [at, { does, source, max, of, isUpToDate, waitMs, crashes, again }] of steps.entries()) {
        nowMs += waitMs;
        const definition = definitionOf(`s${source}`, 'm', max);
        const meant = kept[of % Math.max(1, kept.length)]?.id ?? `of-c${of}`;
        const basedOnMs = isUpToDate ? (state.find(meant)?.definedMs ?? 0) : nowMs;
        const ask = {
          define: defining(`c${at}`, definition),
          change: changing(`c${at}`, meant, definition, basedOnMs),
          delete: deleting(`c${at}`, meant),
        };
        const command = ask[does];
        // What is decided and not in the log has not happened: the next writer decides on the state before it.
        for (let dead = 0; dead < crashes; dead++) monitorDecider.decide(state, command, nowMs);
        for (let times = 0; times <= again; times++) {
          const [outcome, after] = expected(kept, command, nowMs);
          const done = written([command], state, nowMs);
          expect(outcomes(done)).toEqual([outcome]);
          words.add(outcome);
          [state, kept] = [done.state, after];
          const found = monitorsOf(done).map(({ monitorId: id, sourceId, threshold, definedMs }) => ({
            id,
            source: sourceId,
            max: threshold!.max,
            definedMs,
          }));
          expect(found).toEqual(kept.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
          expect(state.count).toBe(kept.length);
          expect(kept.every(({ id, max: its }) => state.find(id)?.threshold?.max === its)).toBe(true);
        }
      }
    }),
    { numRuns: 300 },
  );
  expect([...words].toSorted()).toEqual(['defined', 'deleted', 'outdated', 'unknown_monitor']);
});

it.each([
  ['a definition to delete', { ...deleting('a', 'm'), definition: hot }],
  ['none to define', { ...defining('a', hot), definition: null }],
  ['a change of nothing', { ...changing('a', 'm', hot, 1), basedOnMs: null }],
  ['an id that is none', { ...deleting('a', 'm'), monitorId: 'a/b' }],
  ['a definition that is not good', defining('a', { ...hot, threshold: null })],
])('a command with %s has a flaw', (_, command) => {
  expect(flawOfMonitorCommand(command as MonitorCommand)).toMatch(/\S/);
  for (const good of [deleting('a', 'm'), defining('a', hot), changing('a', 'm', hot, 1)])
    expect(flawOfMonitorCommand(good)).toBeUndefined();
});
