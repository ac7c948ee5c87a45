import { expect, it } from '@jest/globals';
import { MapView } from './map-view.js';

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
