import { setTimeout as pause } from 'node:timers/promises';
import { checkpointS, Cluster } from './cluster.js';
import type { ClientOrder, ClientReport } from './client-writer.js';
import type { ByteOrder, ByteReport } from './byte-producer.js';
import { DirectServers, tables } from './direct-servers.js';
import { counted, loaded, tailMs } from './ingest-figures.js';
import { recordCount } from './kafka-topic.js';
import { LineRows } from './line-rows.js';
import { ready } from './processes.js';
import { Recorder, replay, type Sent } from './recorder.js';
import { pointsOf, stepMs, type Shape } from './shapes.js';

const shape: Shape = {
  name: 'pipeline',
  about: '1,000 sources × 20 metrics, 1,000-point bodies, 8 connections',
  sources: 1_000,
  metrics: 20,
  pointsPerBody: 1_000,
  bodies: 2_000,
  connections: 8,
  gzip: false,
};
const spanMs = (shape.bodies / shape.sources) * (shape.pointsPerBody / shape.metrics) * stepMs;
/** Whether a body holds rows of points or rollups; rows of names are in bodies of their own. */
const isMeasured = ({ body }: Sent): boolean => tables.some((table) => body.toString('latin1', 0, table.length + 1) === `${table},`);

export const about = `${shape.about}, checkpoints every ${checkpointS} s`;
export const points = pointsOf(shape);

/** CPU of the processes on the way of the points, seconds. */
export interface Costs {
  readonly ingress: number;
  readonly processors: number;
  readonly kafka: number;
  readonly questDb: number;
}

/** Both sides of one pair, CPU seconds. */
export interface Pair {
  readonly ours: Costs;
  /** What they cost in the same time with nothing to do, as measured in the tail. */
  readonly idle: Costs;
  /** QuestDB alone, sent the same bodies at the same times. */
  readonly directQuestDb: number;
  /** A Kafka alone with plain kafkajs, sent the same records. */
  readonly directKafka: number;
  /** QuestDB's own client alone, given the same rows one at a time. */
  readonly client: number;
  readonly rollupRows: number;
  readonly commits: number;
}

interface OurRun {
  readonly costs: Costs;
  readonly idle: Costs;
  readonly sent: readonly Sent[];
  readonly sinceMs: number;
  readonly windowMs: number;
}

/** The cluster with a recorder before its QuestDB, and the same servers once more for the other sides. */
export class Pipeline {
  #accepted = 0;
  #nextMs = 0;

  private constructor(
    private readonly cluster: Cluster,
    private readonly recorder: Recorder,
    private readonly direct: DirectServers,
  ) {}

  static async start(): Promise<Pipeline> {
    let recorder: Recorder | undefined;
    const before = async (url: string): Promise<string> => (recorder = await Recorder.before(url)).url;
    const cluster = await Cluster.start({ roles: ['ingress', 'processors', 'query'], before });
    try {
      return new Pipeline(cluster, recorder!, await DirectServers.start(cluster));
    } catch (cause) {
      await cluster.stop();
      throw cause;
    }
  }

  /** Runs all sides once. */
  async pair(): Promise<Pair> {
    const { costs, idle, sent, sinceMs, windowMs } = await this.#ours();
    const rows = expectedRows(sent);
    const { directQuestDb, directKafka } = await this.#directly(sent, sinceMs, windowMs);
    await this.direct.holds(rows);
    await this.direct.empty();
    const client = await this.#client(sent);
    await this.direct.holds(rows);
    await this.direct.empty();
    const rollupRows = [...rows.values()].reduce((sum, count) => sum + count, -points);
    return { ours: costs, idle, directQuestDb, directKafka, client, rollupRows, commits: sent.length };
  }

  async stop(): Promise<void> {
    await this.direct.stop();
    await this.cluster.stop();
    this.recorder.close();
  }

  /** From the first byte until readers see all points and rollups, and a tail. */
  async #ours(): Promise<OurRun> {
    // Points come in order over all pairs, near the time they are sent at.
    const startMs = Math.max(Date.now(), this.#nextMs);
    this.#nextMs = startMs + spanMs;
    const { url, key } = this.cluster.role('ingress');
    const send = await loaded({ url, key, shape, startMs });
    const [sinceMs, beganMs] = [Date.now(), performance.now()];
    this.recorder.begin();
    const before = this.#costs();
    await send();
    await this.cluster.settled();
    const worked = this.#costs();
    await pause(tailMs);
    const after = this.#costs();
    const windowMs = performance.now() - beganMs;
    const idle = change(worked, after, windowMs / tailMs);
    const run = { costs: change(before, after), idle, sent: this.recorder.sent, sinceMs, windowMs };
    this.#accepted += points;
    const seen = await counted(this.cluster.role('query'), shape.metrics, startMs);
    if (seen !== this.#accepted) throw new Error(`${this.#accepted} points were accepted and ${seen} can be read: the run is void`);
    return run;
  }

  /** The same bodies of rows and the same records, as long as our side took. */
  async #directly(sent: readonly Sent[], sinceMs: number, windowMs: number): Promise<Pick<Pair, 'directQuestDb' | 'directKafka'>> {
    const topic = `bench.bytes.${sinceMs}`;
    const order = { from: this.cluster.brokers, sinceMs, to: this.direct.brokers, topic };
    const produce = await ready('./byte-producer.js', order satisfies ByteOrder);
    const before = [this.direct.questDbCpuS(), this.direct.kafkaCpuS()] as const;
    const window = pause(windowMs);
    const [produced] = await Promise.all([produce(), replay(sent, this.direct.questDbUrl)]);
    const report = produced as ByteReport;
    await window;
    const costs = {
      directQuestDb: this.direct.questDbCpuS() - before[0],
      directKafka: this.direct.kafkaCpuS() - before[1] + report.cpuS,
    };
    const stored = await recordCount(this.direct.brokers, topic, sinceMs);
    if (report.records !== shape.bodies || stored !== shape.bodies)
      throw new Error(`of ${shape.bodies} records ${report.records} were sent again and ${stored} are there: the run is void`);
    return costs;
  }

  async #client(sent: readonly Sent[]): Promise<number> {
    const bodies = sent.filter(isMeasured).map(({ body }) => body);
    const write = await ready('./client-writer.js', { url: this.direct.questDbUrl, bodies } satisfies ClientOrder);
    return ((await write()) as ClientReport).cpuS;
  }

  #costs(): Costs {
    return {
      ingress: this.cluster.role('ingress').cpuS(),
      processors: this.cluster.role('processors').cpuS(),
      kafka: this.cluster.kafkaCpuS(),
      questDb: this.cluster.questDbCpuS(),
    };
  }
}

const change = (from: Costs, to: Costs, times = 1): Costs => ({
  ingress: times * (to.ingress - from.ingress),
  processors: times * (to.processors - from.processors),
  kafka: times * (to.kafka - from.kafka),
  questDb: times * (to.questDb - from.questDb),
});

/** Rows that the bodies leave in each table: no point comes twice, and of a rollup's row that does there is one. */
function expectedRows(sent: readonly Sent[]): ReadonlyMap<string, number> {
  const lines = new LineRows();
  const [pointTable, ...rollupTables] = tables;
  const keys = new Map(rollupTables.map((table): [string, Set<string>] => [table, new Set()]));
  let sentPoints = 0;
  for (const { body } of sent.filter(isMeasured)) {
    for (const { table, symbols, timestampMs } of lines.of(body)) {
      if (table === pointTable) sentPoints++;
      else keys.get(table)!.add(`${timestampMs},${symbols.join()}`);
    }
  }
  if (sentPoints !== points) throw new Error(`${points} points were accepted and ${sentPoints} sent to QuestDB: the run is void`);
  return new Map([[pointTable, points], ...Array.from(keys, ([table, its]): [string, number] => [table, its.size])]);
}
