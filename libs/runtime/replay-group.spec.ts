import { expect, it } from '@jest/globals';
import { seriesGroup, sourcesGroup } from '#topics';
import { whyNotReplayed } from './replay-group.js';

it.each([
  ['alerts', 'The group alerts is never moved back'],
  ['series.g3', undefined],
  ['sources', undefined],
  ['dlq.redrive', undefined],
])('a group is moved back only where its effects may happen twice: %s', (name, expected) => {
  const found = whyNotReplayed(name, [seriesGroup, sourcesGroup, { ...sourcesGroup, name: 'alerts', mayReplay: false }]);
  expect(found?.slice(0, expected?.length)).toBe(expected);
});

it.each(['keys', 'decisions'])('what is decided once is not decided again: %s', (name) => {
  expect(whyNotReplayed(name)).toMatch(/is never moved back/);
});
