import type { AnyTopic } from '#log';
import { topics } from '#topics';
import { withLog, type Kafka } from './adapters.js';
import { StartError } from './config.js';
import type { Config } from './settings.js';

export type DeadLetter = Awaited<ReturnType<Kafka['deadLetters']['newest']>>[number];
export type Redriven = Awaited<ReturnType<Kafka['deadLetters']['redrive']>>;
type Purge = Parameters<Kafka['deadLetters']['purge']>[1];
export type Purged = Awaited<ReturnType<Kafka['deadLetters']['purge']>>;

export interface DeadLettersReport {
  /** The topic that they came from. */
  readonly topic: string;
  readonly count: number;
  /** Oldest first. */
  readonly newest: readonly DeadLetter[];
}

/** The topics that have dead letters, with the newest of them. */
export function reportDeadLetters(config: Config, limit: number): Promise<readonly DeadLettersReport[]> {
  return withLog(config, async ({ deadLetters }) => {
    const reports: DeadLettersReport[] = [];
    for (const topic of topics) {
      const count = await deadLetters.count(topic);
      if (count > 0) reports.push({ topic: topic.name, count, newest: await deadLetters.newest(topic, limit) });
    }
    return reports;
  });
}

/** The newest dead letters of a topic, oldest first. */
export const showDeadLetters = (config: Config, topic: AnyTopic, limit: number): Promise<readonly DeadLetter[]> =>
  withLog(config, ({ deadLetters }) => deadLetters.newest(topic, limit));

/**
 * Appends dead letters again to the topic that they came from, each once: all that were not, or the one of an offset. Rejects StartError when
 * that cannot be kept.
 */
export const redriveDeadLetters = (config: Config, topic: AnyTopic, only?: number): Promise<Redriven> =>
  withLog(config, async ({ deadLetters }) => {
    const { RedriveRefused } = await import('#kafka');
    return deadLetters.redrive(topic, only).catch((cause: unknown) => {
      throw cause instanceof RedriveRefused ? new StartError(cause.message, { cause }) : cause;
    });
  });

/** Deletes dead letters for good, or only counts them. */
export const purgeDeadLetters = (config: Config, topic: AnyTopic, purge: Purge): Promise<Purged> =>
  withLog(config, ({ deadLetters }) => deadLetters.purge(topic, purge));
