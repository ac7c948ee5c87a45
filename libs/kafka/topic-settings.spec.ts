import { expect, it } from '@jest/globals';
import { letterTopicOf, type AnyTopic } from '#log';
import { apiKeys, audit, events, keyCommands, points, topics } from '#topics';
import { pinnedSettings } from './topic-settings.js';

const dayMs = 86_400_000;
const kept = (topic: AnyTopic): string => pinnedSettings(topic, 1, 1).find(({ name }) => name === 'retention.ms')!.value;

it.each([
  ['commands of those who decide a week', keyCommands, '604800000'],
  ['dead letters of them for ever', letterTopicOf(keyCommands), '-1'],
  ['points for ever', points, '-1'],
  ['what is compacted for ever', apiKeys, '-1'],
])('a new topic keeps %s', (_, topic, ms) => {
  expect(kept(topic)).toBe(ms);
});

it.each<[string, AnyTopic, boolean]>([
  ['points', points, true],
  ['events', events, true],
  ['their dead letters', letterTopicOf(points), false],
  ['commands of those who decide', keyCommands, false],
  ['the audit log', audit, false],
])('how long %s are kept the roles may say: %s', (_, topic, may) => {
  const settings = pinnedSettings(topic, 1, 1, dayMs);
  const retention = settings.find(({ name }) => name === 'retention.ms')!;
  expect([retention.value === String(dayMs), retention.fits?.('-1')]).toEqual(may ? [true, false] : [false, undefined]);
});

it('nothing else goes with its age', () => {
  const going = topics.filter((topic) => kept(topic) !== '-1').map(({ name }) => name);
  expect(going.filter((name) => !name.endsWith('-commands.v1'))).toEqual([]);
  expect(going).toHaveLength(7);
});
