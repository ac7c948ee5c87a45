import { RedriveRefused, type AnyTopic, type DeadLetters, type NewestLetters, type Redriven } from '#log';
import { topics } from '#topics';
import { StartError } from './config.js';

interface DeadLettersReport extends NewestLetters {
  /** The topic that they came from. */
  readonly topic: string;
}

/** The topics that have dead letters, with the newest of them. */
export async function reportDeadLetters(deadLetters: DeadLetters, limit: number): Promise<readonly DeadLettersReport[]> {
  const reports = await Promise.all(topics.map(async (topic) => ({ topic: topic.name, ...(await deadLetters.newest(topic, limit)) })));
  return reports.filter(({ count }) => count > 0);
}

/** As `DeadLetters.redrive`. Rejects StartError when a letter would be sent back twice. */
export const redriveDeadLetters = (deadLetters: DeadLetters, topic: AnyTopic, only?: number): Promise<Redriven> =>
  deadLetters.redrive(topic, only).catch((cause: unknown) => {
    throw cause instanceof RedriveRefused ? new StartError(cause.message, { cause }) : cause;
  });
