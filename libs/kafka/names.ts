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
  return isDeadLetters(name) ? 1 : topicOf(name, topics).partitions;
}

/** The topic of whose records these are the dead letters. */
export const originOf = (name: string, topics: readonly AnyTopic[]): AnyTopic => topicOf(name.slice(0, -deadLetters.length), topics);

function topicOf(name: string, topics: readonly AnyTopic[]): AnyTopic {
  const topic = topics.find((it) => it.name === name);
  if (!topic) throw new Error(`there is no topic ${name}`);
  return topic;
}

/** A group that a process makes for itself to follow a topic; it keeps no offsets. */
export const ownGroup = (topic: string): string => `${topic}.view-${randomUUID()}`;

export const isOwnGroup = (group: string): boolean => /\.view-[0-9a-f-]{36}$/.test(group);
