import { beforeEach, describe, expect, it } from '@jest/globals';
import { activePeriodMs, atOnce, IngestParser, type Accepted, type OrganizationLimits } from '#model';
import type { NameRoom } from '#stores';
import { Metrics } from './metrics.js';
import { NameLimiter } from './name-limiter.js';
import type { Organizations } from './organizations.js';

const parser = new IngestParser();
const startMs = 1000 * activePeriodMs;
let nowMs = startMs;
let limits: OrganizationLimits;
let metrics: Metrics;

const body = (orgId: string, ...sources: readonly string[]): Accepted => {
  const points = sources.map((source_id) => ({ source_id, metric: 'm', value: 1 }));
  return atOnce(parser.parse(Buffer.from(JSON.stringify({ points })), { orgId, receivedMs: nowMs }));
};
const limiter = (room?: NameRoom): NameLimiter => {
  const organizations = { limits: (orgId: string) => (orgId === 'own' ? limits : {}) } as Organizations;
  return new NameLimiter(organizations, { sources: 2, series: 10, tag_sets: 10 }, () => nowMs, metrics, room);
};
const read = (name: string): unknown => metrics.all.find((metric) => metric.name === name)?.read();

beforeEach(() => {
  nowMs = startMs;
  limits = {};
  metrics = new Metrics();
});

describe('a process that lets organizations have 2 active devices', () => {
  it('refuses a third, until the end of the hour after the one in which the others came last', async () => {
    const names = limiter();
    await names.check('o', body('o', 'a', 'b'));
    nowMs += activePeriodMs / 2;
    await expect(names.check('o', body('o', 'a', 'c'))).rejects.toThrow(
      expect.objectContaining({
        code: 'too_many_series',
        retryAfterS: (1.5 * activePeriodMs) / 1000,
        message: expect.stringContaining('2 devices'),
      }),
    );
    await names.check('o', body('o', 'a', 'b'));
    await names.check('p', body('p', 'c', 'd'));
    nowMs = startMs + 2 * activePeriodMs;
    await names.check('o', body('o', 'c', 'd'));
  });

  it('goes by the limit of the organization, where it has one', async () => {
    const names = limiter();
    limits = { sources: 4 };
    await names.check('own', body('own', 'a', 'b', 'c', 'd'));
    limits = { sources: 1 };
    await names.check('own', body('own', 'a', 'b', 'c', 'd'));
    await expect(names.check('own', body('own', 'e'))).rejects.toThrow('1 devices');
  });

  it('tells the operator how near its organizations are to their limits', async () => {
    const names = limiter();
    await names.check('o', body('o', 'a'));
    await names.check('p', body('p', 'a', 'b'));
    await expect(names.check('p', body('p', 'c'))).rejects.toThrow('2 devices');
    expect(read('headwater_active_names')).toContainEqual({ labels: { kind: 'sources' }, value: 3 });
    expect(read('headwater_active_names_limit_ratio')).toContainEqual({ labels: { kind: 'sources' }, value: 1 });
    expect(read('headwater_bodies_with_too_many_names')).toContainEqual({ labels: { limit: 'sources' }, value: 1 });
    nowMs += 3 * activePeriodMs;
    expect(read('headwater_active_names')).toContainEqual({ labels: { kind: 'sources' }, value: 0 });
  });

  describe('and has room for some names', () => {
    let isFull = false;
    const names = (): NameLimiter =>
      limiter({
        isFull: () => isFull,
        knows: ({ points }) => Promise.resolve(points.every(({ sourceId }) => sourceId.startsWith('old'))),
      });

    it('takes nothing but those while there is no room for others', async () => {
      const one = names();
      isFull = true;
      await one.check('o', body('o', 'old'));
      await expect(one.check('o', body('o', 'old', 'b'))).rejects.toThrow(
        expect.objectContaining({ code: 'too_many_series', retryAfterS: 60 }),
      );
      isFull = false;
      await one.check('o', body('o', 'old', 'b'));
    });

    it('takes all of those, so that a fleet beyond its limits goes on after a start', async () => {
      const one = names();
      await one.check('o', body('o', 'old-1', 'old-2', 'old-3'));
      await one.check('o', body('o', 'a', 'b'));
      await expect(one.check('o', body('o', 'old-1', 'c'))).rejects.toThrow('2 devices');
    });
  });
});
