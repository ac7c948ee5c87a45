import type { AnyTopic, Headers } from './topic.js';

const deadLetters = '.dlq';

/** The topic for what a group could not use of a topic. */
export const deadLettersOf = (topic: string): string => topic + deadLetters;

/** The topic of a topic's dead letters: few, and so in one partition. */
export const letterTopicOf = (topic: AnyTopic): AnyTopic => ({
  ...topic,
  name: deadLettersOf(topic.name),
  cleanup: 'delete',
  partitions: 1,
});

export const isDeadLetters = (topic: string): boolean => topic.endsWith(deadLetters);

/** The topic that dead letters came from. */
export const originOf = (letters: string): string => letters.slice(0, -deadLetters.length);

/** The header of a dead letter that is only the beginning of a record: how many bytes that has. */
export const wholeBytes = 'bytes';

/** The header of a dead letter, and of a record that was sent back, that says how often the record was parked. */
export const attemptsHeader = 'attempts';

/** How often a record was parked, as its headers say; 0 when they do not, or what they say is no number. */
export function attemptsOf(headers: Headers): number {
  const text = headers[attemptsHeader] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** The group of a processor without the generation: all generations park a record as one dead letter. */
export const withoutGeneration = (group: string): string => group.replace(/\.g\d+$/, '');

/**
 * What makes a dead letter the same as another one: its record, and the processor that could not use it, of whatever generation. Undefined for
 * one whose headers do not say.
 */
export function letterId({ topic, partition, offset, group }: Headers): string | undefined {
  if (topic === undefined || partition === undefined || offset === undefined || group === undefined) return undefined;
  return `${withoutGeneration(group)} ${topic}/${partition}/${offset}`;
}
