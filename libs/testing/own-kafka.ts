import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafka, startRegistry } from '../../infra/servers/index.js';
import { sources } from '#topics';

/** A broker and a registry that a suite may kill. */
export type OwnKafka = Awaited<ReturnType<typeof startOwnKafka>>;

export async function startOwnKafka() {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-kafka-'));
  const [kafka, registry] = await Promise.all([
    startKafka({ folder: join(folder, 'kafka'), brokers: 1 }),
    startRegistry({ folder: join(folder, 'registry') }),
  ]);
  return {
    kafka,
    registry,
    /** To open a log of one topic, `sources`. */
    options: (prefix: string) => ({
      brokers: kafka.brokers,
      registry: { url: registry.url },
      prefix,
      topics: [sources],
      replicationFactor: 1,
      minInsyncReplicas: 1,
      report: () => undefined,
    }),
    stop: async () => void (await Promise.all([kafka.stop(), registry.stop()])),
  };
}
