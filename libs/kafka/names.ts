import { randomUUID } from 'node:crypto';
import type { AnyTopic } from '#log';

const deadLetters = '.dlq';

/** The topic for what a group could not use of a topic. */
export const deadLettersOf = (topic: string): string => topic + deadLetters;

export const isDeadLetters = (topic: string): boolean => topic.endsWith(deadLetters);

/** The header of a dead letter that is only the beginning of a record: how many bytes that has. */
export const wholeBytes = 'bytes';

/** How many partitions a topic has; dead letters are few and have one. */
export function partitionsOf(name: string, topics: readonly AnyTopic[]): number {
  if (isDeadLetters(name)) return 1;
  const topic = topics.find((it) => it.name === name);
  if (!topic) throw new Error(`there is no topic ${name}`);
  return topic.partitions;
}

/** A group that a process makes for itself to follow a topic; it keeps no offsets. */
export const ownGroup = (topic: string): string => `${topic}.view-${randomUUID()}`;

export const isOwnGroup = (group: string): boolean => /\.view-[0-9a-f-]{36}$/.test(group);
