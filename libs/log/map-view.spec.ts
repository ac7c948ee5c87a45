import { describe, expect, it } from '@jest/globals';
import { MapView } from './map-view.js';
import { NewestValues } from './newest-values.js';
import type { StreamRecord } from './topic.js';

const damaged = new Error('the log is damaged');

it.each([
  ['resolves when it has', () => Promise.resolve(), { status: 'fulfilled' }],
  ['rejects as the log does', () => Promise.reject(damaged), { status: 'rejected', reason: damaged }],
  [
    'rejects when nothing comes',
    () => Promise.withResolvers<void>().promise,
    { status: 'rejected', reason: { code: 'log_unavailable', retryAfterS: 1 } },
  ],
] as const)('a view that is to catch up %s', async (_, caughtUp, outcome) => {
  const view = new MapView({ ready: Promise.resolve(), caughtUp, ageMs: () => 0, isChange: () => true, patienceMs: 10 });
  expect(await Promise.allSettled([view.caughtUp()])).toMatchObject([outcome]);
});

describe('a view that is read again', () => {
  const record = (key: string, value: unknown): StreamRecord => ({ key, value }) as StreamRecord;
  const read = (...records: readonly StreamRecord[]): NewestValues => {
    const newest = new NewestValues();
    for (const one of records) newest.take(one);
    return newest;
  };

  it('tells of keys that are gone, new, or have got another value, after it shows all of it', () => {
    const view = new MapView({ ready: Promise.resolve(), caughtUp: () => Promise.resolve(), ageMs: () => 0, isChange: () => true });
    for (const key of ['gone', 'stays', 'changes']) view.apply(record(key, 1));
    expect([...view.scan('')].length).toBe(3);
    const heard: unknown[] = [];
    view.changes(({ key, value }) => heard.push([key, value, [...view.scan('')]]));
    view.replace(read(record('stays', 1), record('changes', 2), record('new', 3)), new Set(['changes', 'new']));
    const shown = [
      ['changes', 2],
      ['new', 3],
      ['stays', 1],
    ];
    expect(heard).toEqual([
      ['gone', null, shown],
      ['changes', 2, shown],
      ['new', 3, shown],
    ]);
    view.apply(record('gone', 4));
    expect(view.get('gone')).toBe(4);
  });
});
