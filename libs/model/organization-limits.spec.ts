import { expect, it } from '@jest/globals';
import { flawOfLimits, type OrganizationLimits } from './organization-limits.js';

it.each<[OrganizationLimits, string | undefined]>([
  [{}, undefined],
  [{ points_per_s: 1, keep_points_hours: 24, keep_events_hours: 24 }, undefined],
  [{ keep_points_hours: 48, keep_1m_hours: 48, keep_1h_hours: 720 }, undefined],
  [{ keep_events_hours: 23 }, 'keep_events_hours must be at least 24.'],
  [{ keep_points_hours: 1 }, 'keep_points_hours must be at least 24.'],
  [{ keep_1d_hours: 720 }, 'keep_1d_hours must be at least keep_1h_hours, which is for ever unless you set it.'],
  [{ keep_points_hours: 48, keep_1m_hours: 47 }, 'keep_1m_hours must be at least keep_points_hours, which is for ever unless you set it.'],
])('limits of an organization: what is wrong with %j is %j', (limits, flaw) => {
  expect(flawOfLimits(limits)).toBe(flaw);
});
