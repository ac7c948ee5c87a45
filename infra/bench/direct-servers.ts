import { join } from 'node:path';
import { initDataPlane, readConfig } from '#runtime';
import { startKafka, startQuestDb, type KafkaServers, type QuestDbServer } from '../servers/index.js';
import type { Cluster } from './cluster.js';
import { cpuSOf } from './processes.js';
import { until } from './server-process.js';

/** The tables of points and rollups. */
export const tables = ['points_g1', 'rollup_1m_g1', 'rollup_1h_g1', 'rollup_1d_g1'] as const;
const visibleMs = 120_000;

/** Asks QuestDB over HTTP. */
export async function ask(url: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const answer = await fetch(`${url}/exec?query=${encodeURIComponent(sql)}`);
  if (!answer.ok) throw new Error(`QuestDB refuses ${sql}: ${await answer.text()}`);
  return ((await answer.json()) as { dataset?: unknown[][] }).dataset ?? [];
}

export async function rowCount(url: string, table: string): Promise<number> {
  return Number((await ask(url, `SELECT count() FROM ${table}`))[0]![0]);
}

/** A QuestDB with the same tables and a Kafka, with nothing of ours in between. */
export class DirectServers {
  private constructor(
    private readonly questDb: QuestDbServer,
    private readonly kafka: KafkaServers,
  ) {}

  static async start(cluster: Cluster): Promise<DirectServers> {
    const questDb = await startQuestDb({ folder: join(cluster.folder, 'direct-questdb') });
    const kafka = await startKafka({ folder: join(cluster.folder, 'direct-kafka'), brokers: 1 });
    const addresses = { HEADWATER_QUESTDB_URL: questDb.httpUrl, HEADWATER_QUESTDB_PG: questDb.pgUrl };
    await initDataPlane(readConfig({ ...cluster.environment, ...addresses }), () => undefined);
    return new DirectServers(questDb, kafka);
  }

  get questDbUrl(): string {
    return this.questDb.httpUrl;
  }

  get brokers(): string {
    return this.kafka.brokers.join(',');
  }

  questDbCpuS(): number {
    return cpuSOf(this.questDb.server.pid!);
  }

  kafkaCpuS(): number {
    return cpuSOf(this.kafka.servers[0]!.pid!);
  }

  /** Resolves when the tables have just so many rows. Rejects, which voids the run, when they do not come to that. */
  async holds(expected: ReadonlyMap<string, number>): Promise<void> {
    let seen: number[] = [];
    await until(async () => {
      seen = await Promise.all(tables.map((table) => rowCount(this.questDbUrl, table)));
      return tables.every((table, at) => seen[at] === (expected.get(table) ?? 0));
    }, visibleMs).catch(() => {
      const wanted = tables.map((table) => expected.get(table) ?? 0);
      throw new Error(`QuestDB has ${seen.join(', ')} rows in ${tables.join(', ')} and was sent ${wanted.join(', ')}: the run is void`);
    });
  }

  /** Forgets all rows. */
  async empty(): Promise<void> {
    for (const table of tables) await ask(this.questDbUrl, `TRUNCATE TABLE ${table} KEEP SYMBOL MAPS`);
    await this.holds(new Map());
  }

  async stop(): Promise<void> {
    await Promise.all([this.questDb.stop(), this.kafka.stop()]);
  }
}
