import { describe, expect, it } from '@jest/globals';
import type { Accepted } from './accepted.js';
import { activePeriodMs, ActiveNames, type TooManyNames } from './active-names.js';
import { atOnce, IngestParser } from './ingest.js';
import type { NameKind } from './organization-limits.js';

const limits = { sources: 3, series: 6, tag_sets: 4 };
const parser = new IngestParser();
const nowMs = 5 * activePeriodMs;

type Point = readonly [source: string, metric: string, tags?: Record<string, string>];
const bodyOf = (points: readonly object[]): Accepted =>
  atOnce(parser.parse(Buffer.from(JSON.stringify({ points })), { orgId: 'o', receivedMs: nowMs }));
const body = (...points: readonly Point[]): Accepted =>
  bodyOf(points.map(([source_id, metric, tags]) => ({ source_id, metric, value: 1, ...(tags && { tags }) })));
const event = (source_id: string, metric: string): object => ({ source_id, metric, value: 'x', class: 'event' });

const counts = (names: ActiveNames, atMs = nowMs): number[] =>
  (['sources', 'series', 'tag_sets'] as const).map((kind: NameKind) => names.active(kind, atMs));

const over = (kind: NameKind, atMs = nowMs, periods = 2): TooManyNames => ({
  kind,
  limit: limits[kind],
  endMs: atMs + periods * activePeriodMs,
});

describe('the active names of an organization that may have 3 sources, 6 series and 4 tag sets', () => {
  it('are counted once each, however often they come', () => {
    const names = new ActiveNames(1);
    for (let again = 0; again < 3; again++) {
      const points = [
        ['a', 'm'],
        ['a', 'n', { k: '1' }],
        ['a', 'n', { k: '2' }],
        ['b', 'm', { k: '1' }],
      ] as const;
      expect(names.admit(body(...points), () => limits, nowMs)).toBeUndefined();
      expect(counts(names)).toEqual([2, 3, 2]);
    }
  });

  it.each([
    ['sources', body(['a', 'm'], ['b', 'm'], ['c', 'm'], ['d', 'm'])],
    ['series', body(...['1', '2', '3', '4', '5', '6', '7'].map((metric) => ['a', metric] as const))],
    ['tag_sets', body(...['1', '2', '3', '4', '5'].map((k) => ['a', 'm', { k }] as const))],
    ['series', bodyOf(['1', '2', '3', '4', '5', '6', '7'].map((name) => event('a', name)))],
    ['sources', bodyOf(['a', 'b', 'c', 'd'].map((source) => event(source, 'm')))],
  ] as const)('are refused whole where a body brings too many %s', (kind, many) => {
    const names = new ActiveNames(1);
    expect(names.admit(many, () => limits, nowMs)).toEqual(over(kind));
    expect(counts(names)).toEqual([0, 0, 0]);
  });

  it('leave room for others when a body is refused', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm'], ['b', 'm']), () => limits, nowMs);
    expect(names.admit(body(['c', 'm'], ['d', 'm']), () => limits, nowMs)).toEqual(over('sources'));
    expect(names.admit(body(['e', 'm']), () => limits, nowMs)).toBeUndefined();
    expect(names.admit(body(['a', 'm'], ['b', 'm'], ['e', 'm']), () => limits, nowMs)).toBeUndefined();
    expect(names.admit(body(['a', 'm'], ['c', 'm']), () => limits, nowMs)).toEqual(over('sources'));
  });

  it('are the same for points and events, and tags of events are none of them', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm']), () => limits, nowMs);
    names.admit(bodyOf([{ ...event('a', 'm'), tags: { k: '1' } }]), () => limits, nowMs);
    expect(counts(names)).toEqual([1, 1, 0]);
  });

  it('do not depend on the order of tags', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm', { k: '1', l: '2' }]), () => limits, nowMs);
    names.admit(body(['a', 'm', { l: '2', k: '1' }]), () => limits, nowMs);
    expect(counts(names)).toEqual([1, 1, 1]);
  });

  it('are forgotten after a whole period without them', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm'], ['b', 'm'], ['c', 'm']), () => limits, nowMs);
    const next = nowMs + activePeriodMs;
    expect(names.admit(body(['d', 'm']), () => limits, next)).toEqual(over('sources', next, 1));
    expect(names.admit(body(['a', 'm']), () => limits, next)).toBeUndefined();
    expect(counts(names, next)).toEqual([3, 3, 0]);
    expect(counts(names, next + activePeriodMs)).toEqual([1, 1, 0]);
    expect(names.admit(body(['d', 'm'], ['e', 'm']), () => limits, next + activePeriodMs)).toBeUndefined();
    expect(names.isIdle(next + 2 * activePeriodMs)).toBe(false);
    expect(names.isIdle(next + 3 * activePeriodMs)).toBe(true);
  });

  it('are told apart when a known source brings its metrics in other lists', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', '1'], ['a', '2'], ['a', '3']), () => limits, nowMs);
    for (let again = 0; again < 2; again++) {
      expect(names.admit(body(['a', '1'], ['a', '2']), () => limits, nowMs)).toBeUndefined();
      expect(names.admit(body(['b', '1'], ['b', '2'], ['b', '3'], ['b', '4']), () => limits, nowMs)).toEqual(over('series'));
      expect(counts(names)).toEqual([1, 3, 0]);
    }
    names.admit(body(['a', '1'], ['a', '2'], ['a', '3']), () => limits, nowMs + activePeriodMs);
    expect(counts(names, nowMs + 2 * activePeriodMs)).toEqual([1, 3, 0]);
  });

  it('go on where the limit is below what is active', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm'], ['b', 'm']), () => limits, nowMs);
    const lower = { ...limits, sources: 1 };
    expect(names.admit(body(['a', 'm'], ['b', 'm']), () => lower, nowMs)).toBeUndefined();
    expect(names.admit(body(['c', 'm']), () => lower, nowMs)).toMatchObject({ kind: 'sources', limit: 1 });
    expect(names.admit(body(['a', 'n']), () => lower, nowMs)).toBeUndefined();
  });

  it('stay when the clock is set back', () => {
    const names = new ActiveNames(1);
    names.admit(body(['a', 'm'], ['b', 'm'], ['c', 'm']), () => limits, nowMs);
    expect(names.admit(body(['d', 'm']), () => limits, nowMs - 10 * activePeriodMs)).toEqual(over('sources'));
    expect(names.admit(body(['a', 'm']), () => limits, nowMs - 10 * activePeriodMs)).toBeUndefined();
  });

  it('keep within a limit, but for one in some hundred, when many come', () => {
    const names = new ActiveNames(1);
    const many = { sources: 20_000, series: 20_000, tag_sets: 1 };
    let passed = 0;
    for (let at = 0; at < 400; at++) {
      const hundred = Array.from({ length: 100 }, (_, each) => [`s-${at}-${each}`, 'm'] as const);
      if (!names.admit(body(...hundred), () => many, nowMs)) passed += 100;
    }
    expect(passed).toBeGreaterThanOrEqual(20_000);
    expect(passed).toBeLessThan(20_600);
    expect(names.active('sources', nowMs)).toBeLessThanOrEqual(20_000);
  });
});
