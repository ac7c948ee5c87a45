import { isDeadLetters, type AnyTopic } from '#log';

/** How many partitions a topic has; dead letters are few and have one. */
export function partitionsOf(name: string, topics: readonly AnyTopic[]): number {
  if (isDeadLetters(name)) return 1;
  const topic = topics.find((it) => it.name === name);
  if (!topic) throw new Error(`there is no topic ${name}`);
  return topic.partitions;
}
