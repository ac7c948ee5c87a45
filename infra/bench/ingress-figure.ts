import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Cluster } from './cluster.js';
import { charge, loaded, type Charged } from './ingest-figures.js';
import { pointTopic, recordCount, recordsSince } from './kafka-topic.js';
import { print, ratios, spread, type Asked, type Figure } from './report.js';
import { rowTopic, ServerProcess } from './server-process.js';
import { dayStartMs, pointsOf, type Shape } from './shapes.js';

const shape: Shape = {
  name: 'G1',
  about: '1,000-point bodies, 4 connections',
  sources: 400,
  metrics: 20,
  pointsPerBody: 1_000,
  bodies: 1_000,
  connections: 4,
  gzip: false,
};

interface Side {
  readonly server: Charged;
  /** Points that are in its topic since a time. */
  readonly points: (sinceMs: number) => Promise<number>;
}

/** CPU of the server for a million points, all of which are then in the log. */
async function cpuPerMpt({ server, points }: Side): Promise<number> {
  const sinceMs = Date.now();
  const { cpuPerMpt: cost } = await charge(server, shape, dayStartMs(sinceMs));
  const seen = await points(sinceMs);
  if (seen !== pointsOf(shape)) throw new Error(`G1: ${pointsOf(shape)} points were accepted and ${seen} are in Kafka: the run is void`);
  return cost;
}

async function pointsSince(brokers: string, registry: SchemaRegistry, sinceMs: number): Promise<number> {
  let points = 0;
  for (const { value } of await recordsSince(brokers, pointTopic, sinceMs)) {
    const { series } = (await registry.decode(value)) as { series: { value: number[] }[] };
    for (const { value: values } of series) points += values.length;
  }
  return points;
}

async function warmUp({ server: { url, key } }: Side): Promise<void> {
  const send = await loaded({ url, key, shape: { ...shape, bodies: 200 }, startMs: dayStartMs(Date.now()) });
  await send();
}

async function compare(ingress: Side, rows: Side, pairs: number): Promise<void> {
  await warmUp(ingress);
  await warmUp(rows);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    ours.push(await cpuPerMpt(ingress));
    theirs.push(await cpuPerMpt(rows));
  }
  print(`G1: ingress to Kafka, ${shape.about}, ${pointsOf(shape)} points, one broker, its page cache, ${pairs} pairs`, {
    'ingress, cpu-s per million points': spread(ours, 3),
    'one record per point, the same': spread(theirs, 2),
    'ratio to one record per point': spread(ratios(ours, theirs), 3),
  });
}

async function run({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress'] });
  let rows: ServerProcess | undefined;
  try {
    const { brokers, registryUrl } = cluster;
    const registry = new SchemaRegistry({ host: registryUrl });
    rows = await ServerProcess.rows(brokers, registryUrl);
    await compare(
      { server: cluster.role('ingress'), points: (sinceMs) => pointsSince(brokers, registry, sinceMs) },
      { server: rows, points: (sinceMs) => recordCount(brokers, rowTopic, sinceMs) },
      pairs,
    );
  } finally {
    await rows?.remove();
    await cluster.stop();
  }
}

export const ingressFigure: Figure = {
  names: { G1: 'POST /ingest until Kafka has it, against a record per point' },
  shape: 'cluster',
  run,
};
