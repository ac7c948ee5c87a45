import { describe, expect, it } from '@jest/globals';
import {
  flawOfMonitor,
  flawsOfDefinition,
  isSameDefinition,
  maxAlertMessageBytes,
  maxMonitorNameChars,
  type Monitor,
  type MonitorDefinition,
  type Offline,
  type Threshold,
} from './monitor.js';

const threshold: Threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' };
const offline: Offline = { timeoutMs: 300_000, severity: 'critical', message: '' };
const definition: MonitorDefinition = { name: 'heat', sourceId: 'press-7', metric: 'oil.temperature', threshold, offline: null };
const monitor: Monitor = { ...definition, orgId: 'o', monitorId: 'mon_1', createdMs: 1, definedMs: 1 };

const of = (change: Partial<MonitorDefinition>): MonitorDefinition => ({ ...definition, ...change });
const bounds = (change: Partial<Threshold>): MonitorDefinition => of({ threshold: { ...threshold, ...change } });

describe('a definition', () => {
  it.each([
    ['a maximum', definition],
    ['a minimum', bounds({ min: 0, max: null })],
    ['both', bounds({ min: -1 })],
    ['a maximum with a band', bounds({ clearMax: 75 })],
    ['a band as wide as the bound', bounds({ clearMax: 80 })],
    ['a minimum with a band', bounds({ min: 0, max: null, clearMin: 5 })],
    ['both with one band', bounds({ min: 0, clearMin: 5, clearMax: 75 })],
    ['both with a band on one side', bounds({ min: 0, clearMax: 75 })],
    ['every source', of({ sourceId: '*' })],
    ['offline alone, about no metric', of({ metric: null, threshold: null, offline })],
    ['offline and a threshold', of({ offline })],
    ['the longest message', bounds({ message: 'é'.repeat(maxAlertMessageBytes / 2) })],
  ])('with %s is good', (_, good) => {
    expect(flawsOfDefinition(good)).toEqual([]);
    expect(flawOfMonitor({ ...monitor, ...good })).toBeUndefined();
  });

  it.each([
    ['no condition', of({ threshold: null }), '/threshold'],
    ['no bound', bounds({ max: null }), '/threshold'],
    ['an infinite bound', bounds({ max: Infinity }), '/threshold'],
    ['no number', bounds({ max: NaN }), '/threshold'],
    ['equal bounds', bounds({ min: 80 }), '/threshold/min'],
    ['bounds the wrong way round', bounds({ min: 90 }), '/threshold/min'],
    ['a band above the maximum', bounds({ clearMax: 81 }), '/threshold/clear'],
    ['a band below the minimum', bounds({ min: 0, clearMin: -1 }), '/threshold/clear'],
    ['a band without room', bounds({ min: 0, clearMin: 50, clearMax: 40 }), '/threshold/clear'],
    ['a band for a bound that is not there', bounds({ clearMin: 5 }), '/threshold/clear'],
    ['a negative time', bounds({ forMs: -1000 }), '/threshold/for_seconds'],
    ['more than a week', bounds({ forMs: 604_801_000 }), '/threshold/for_seconds'],
    ['too long a message', bounds({ message: 'x'.repeat(maxAlertMessageBytes + 1) }), '/threshold/message'],
    ['a message of two lines', bounds({ message: 'a\nb' }), '/threshold/message'],
    ['half a character', bounds({ message: '\ud800' }), '/threshold/message'],
    ['no metric for its threshold', of({ metric: null }), '/metric'],
    ['an empty metric', of({ metric: '' }), '/metric'],
    ['no source', of({ sourceId: '' }), '/source_id'],
    ['a pattern of sources', of({ sourceId: 'press-*' }), '/source_id'],
    ['too long a name', of({ name: 'x'.repeat(maxMonitorNameChars + 1) }), '/name'],
    ['no timeout', of({ offline: { ...offline, timeoutMs: 0 } }), '/offline/timeout_seconds'],
    ['a timeout of half a millisecond', of({ offline: { ...offline, timeoutMs: 10_000.5 } }), '/offline/timeout_seconds'],
    ['a bell in the message', of({ offline: { ...offline, message: '\u0007' } }), '/offline/message'],
  ])('with %s is not', (_, bad, pointer) => {
    expect(flawsOfDefinition(bad).map((flaw) => flaw.pointer)).toEqual([pointer]);
    expect(flawOfMonitor({ ...monitor, ...bad })).toContain(pointer);
  });

  it('says everything that is wrong with it', () => {
    const bad = { ...bounds({ max: null, forMs: -1 }), metric: '', offline: { ...offline, timeoutMs: 1 } };
    expect(flawsOfDefinition(bad).map(({ pointer }) => pointer)).toEqual(['/metric', '/threshold', '/offline/timeout_seconds']);
  });

  it('is the same as one that says the same, in whatever order', () => {
    const turned = Object.fromEntries(Object.entries(threshold).toReversed()) as unknown as Threshold;
    expect(isSameDefinition(definition, { ...monitor, threshold: turned })).toBe(true);
    for (const other of [bounds({ max: 81 }), bounds({ message: 'hot' }), of({ name: 'x' }), of({ metric: 'y' }), of({ offline })])
      expect(isSameDefinition(definition, other)).toBe(false);
  });
});

it.each([
  ['an organization with a slash', { orgId: 'a/b' }],
  ['no id', { monitorId: '' }],
  ['an id with a slash', { monitorId: 'a/b' }],
])('a record with %s has a flaw', (_, change) => {
  expect(flawOfMonitor({ ...monitor, ...change })).toMatch(/ id is not one$/);
});
