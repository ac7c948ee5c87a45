import type { AnyTopic } from '#log';
import { topics } from '#topics';
import { withLog, type Kafka } from './adapters.js';
import type { Config } from './settings.js';

export type DeadLetter = Awaited<ReturnType<Kafka['deadLetters']['newest']>>[number];
export type Redriven = Awaited<ReturnType<Kafka['deadLetters']['redrive']>>;

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

/** Appends dead letters again to the topic that they came from: all, or the one of an offset. */
export const redriveDeadLetters = (config: Config, topic: AnyTopic, only?: number): Promise<Redriven> =>
  withLog(config, ({ deadLetters }) => deadLetters.redrive(topic, only));
