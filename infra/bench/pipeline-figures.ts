import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { about, Pipeline, points, type Costs, type Pair } from './pipeline.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import { metricName, seeded, sourceName } from './shapes.js';

/** What making lines costs is known inside of QuestDB's adapter only: a process of its own measures it. */
const encoderProcess = fileURLToPath(new URL('../../libs/questdb/encoder-cost-process.js', import.meta.url));

/** CPU seconds for a million rows. */
interface EncoderCost {
  readonly ours: number;
  readonly client: number;
}

/** Batches of points, as the encoder's process reads them. */
const batches = () =>
  Array.from({ length: 1_000 }, (_, at) => {
    const random = seeded(at + 1);
    const value = (): number => Math.round(random() * 1e6) / 1e4;
    const series = Array.from({ length: 20 }, (__, metric) => ({
      metric: metricName(metric),
      tags: '',
      timestampMs: Float64Array.from({ length: 50 }, (___, tick) => 1.7e12 + 1_000 * tick),
      value: Float64Array.from({ length: 50 }, value),
    }));
    return { orgId: 'org_0000000000000001', sourceId: sourceName(at), receivedMs: 1.7e12, series };
  });

async function encoder(pairs: number): Promise<void> {
  const made = batches();
  const costs: EncoderCost[] = [];
  const encoding = fork(encoderProcess, { serialization: 'advanced' });
  for (let pair = 0; pair < pairs; pair++) {
    encoding.send(made);
    const [cost] = (await once(encoding, 'message')) as [EncoderCost];
    costs.push(cost);
  }
  encoding.disconnect();
  const ours = costs.map((cost) => cost.ours);
  const client = costs.map((cost) => cost.client);
  print(`G3: making lines of rows, nothing sent, 1,000,000 rows of points, ${pairs} pairs`, {
    'our encoder, cpu-s per million rows': spread(ours, 3),
    "QuestDB's client, a row at a time": spread(client, 3),
    "ratio to QuestDB's client": spread(ratios(ours, client), 3),
  });
}

const perMpt = (cpuS: readonly number[]): string =>
  spread(
    cpuS.map((s) => s / (points / 1e6)),
    3,
  );

function writer(pairs: readonly Pair[], head: string): void {
  const ours = pairs.map((pair) => pair.ours.processors);
  const client = pairs.map((pair) => pair.client);
  print(`G3: the whole processors role against QuestDB's client alone; ${head}`, {
    'processors, cpu-s per million points': perMpt(ours),
    'in so much time with nothing to do': perMpt(pairs.map((pair) => pair.idle.processors)),
    "QuestDB's client, fed the same rows": perMpt(client),
    "ratio to QuestDB's client": spread(ratios(ours, client), 3),
  });
}

function writerAndStore(pairs: readonly Pair[], head: string): void {
  const ours = pairs.map((pair) => pair.ours.processors + pair.ours.questDb);
  const direct = pairs.map((pair) => pair.directQuestDb);
  print(`G3b: processors and QuestDB against QuestDB sent the same bodies at the same times; ${head}`, {
    'processors + QuestDB, cpu-s per million': perMpt(ours),
    'of it QuestDB': perMpt(pairs.map((pair) => pair.ours.questDb)),
    'QuestDB fed the same bodies directly': perMpt(direct),
    'ratio to QuestDB fed directly': spread(ratios(ours, direct), 3),
  });
}

const total = ({ ingress, processors, kafka, questDb }: Costs): number => ingress + processors + kafka + questDb;

function endToEnd(pairs: readonly Pair[], head: string): void {
  const ours = pairs.map((pair) => total(pair.ours));
  const direct = pairs.map((pair) => pair.directQuestDb + pair.directKafka);
  print(`G4: from HTTP to visible against QuestDB and Kafka fed directly, the latter with prepared records by plain kafkajs; ${head}`, {
    'all of it, cpu-s per million points': perMpt(ours),
    'of it ingress': perMpt(pairs.map((pair) => pair.ours.ingress)),
    'of it Kafka': perMpt(pairs.map((pair) => pair.ours.kafka)),
    'of it processors': perMpt(pairs.map((pair) => pair.ours.processors)),
    'of it QuestDB': perMpt(pairs.map((pair) => pair.ours.questDb)),
    'in so much time with nothing to do': perMpt(pairs.map((pair) => total(pair.idle))),
    'QuestDB + Kafka fed directly': perMpt(direct),
    'of it Kafka and a plain kafkajs producer': perMpt(pairs.map((pair) => pair.directKafka)),
    'ratio to both fed directly': spread(ratios(ours, direct), 3),
  });
}

async function run({ pairs, wanted }: Asked): Promise<void> {
  if (wanted('G3')) await encoder(pairs);
  const pipeline = await Pipeline.start();
  try {
    // The first is for the just-in-time compilers of all sides.
    await pipeline.pair();
    const all: Pair[] = [];
    for (let pair = 0; pair < pairs; pair++) all.push(await pipeline.pair());
    const rollups = median(all.map((pair) => pair.rollupRows));
    const commits = median(all.map((pair) => pair.commits));
    const head = `${about}, ${points} points and ${rollups} rows of rollups in ${commits} bodies, ${pairs} pairs`;
    if (wanted('G3')) writer(all, head);
    if (wanted('G3b')) writerAndStore(all, head);
    if (wanted('G4')) endToEnd(all, head);
  } finally {
    await pipeline.stop();
  }
}

export const pipelineFigures: Figure = {
  names: {
    G3: "the processors role, against QuestDB's client",
    G3b: 'processors and QuestDB, against QuestDB sent the same',
    G4: 'from HTTP until readers see it, against QuestDB and Kafka sent the same',
  },
  shape: 'cluster',
  run,
};
