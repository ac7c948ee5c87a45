import { randomBytes } from 'node:crypto';
import { deadLettersOf, type AnyTopic, type Groups, type RecordLog, type Views } from '#log';
import { apiKeys, events, points, sources } from '#topics';
import { Asker } from './asker.js';
import { openKafka, type KafkaOptions } from './open-kafka.js';

export interface TestLog {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: Groups;
  health(): string | undefined;
  reopen(): Promise<TestLog>;
  crash(): Promise<TestLog>;
  close(): Promise<void>;
}

/** Options for topics of their own on the Kafka of this test run. */
export function testOptions(topics: readonly AnyTopic[]): KafkaOptions & { readonly prefix: string } {
  return {
    brokers: process.env['HEADWATER_TEST_KAFKA']!.split(','),
    registry: { url: process.env['HEADWATER_TEST_REGISTRY']! },
    prefix: `t${randomBytes(6).toString('hex')}.`,
    topics,
    replicationFactor: 1,
    minInsyncReplicas: 1,
    report: () => undefined,
  };
}

/** A Kafka log on topics of its own, for tests; open, however long that takes on a busy machine. */
export async function openTestLog(more: Partial<KafkaOptions> = {}): Promise<TestLog> {
  // On a busy machine a broker that many suites share may take longer than the default to acknowledge megabytes. Members come and go all the time.
  const options = { ...testOptions([events, points, sources, apiKeys]), waitMs: 30_000, lookMs: 50, ...more };
  const kafka = await openKafka(options);
  await kafka.opened;
  return {
    log: kafka.log,
    views: kafka.views,
    groups: kafka.groups,
    health: () => kafka.health(),
    reopen: () => kafka.close().then(() => openTestLog(options)),
    crash: () => kafka.crash().then(() => openTestLog(options)),
    close: () => kafka.close().then(() => deleteTopics(options)),
  };
}

/** A broker that is shared by many tests has room for few topics. */
async function deleteTopics(options: KafkaOptions): Promise<void> {
  const asker = new Asker(options);
  const names = options.topics!.flatMap(({ name }) => [name, deadLettersOf(name)]).map((name) => options.prefix + name);
  await asker.ask((admin) => admin.deleteTopics({ topics: names })).catch(() => undefined);
  await asker.close();
}
