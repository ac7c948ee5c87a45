import { Cluster } from './cluster.js';
import type { CommandOrder, CommandTimes } from './command-load.js';
import type { HopOrder, HopReport } from './hop-load.js';
import { onBoth } from './live-servers.js';
import { ready } from './processes.js';
import { percentiles, print, ratios, spread, type Asked, type Figure } from './report.js';
import type { Target } from './server-process.js';
import type { StreamOrder, StreamReport } from './stream-load.js';

const sources = 100;
const perSecond = 100;
const seconds = 10;
/** About what a command takes in the log, and 20 points. */
const hopBytes = 400;

const targetOf = ({ url, key }: Target): Target => ({ url, key });

/** Milliseconds from sending points until their viewer has them. */
async function streamDelays(to: Target, at = to): Promise<readonly number[]> {
  const [ingress, gateway] = [targetOf(to), targetOf(at)];
  const posts = { posts: perSecond * seconds, sourcesOfPost: 1, pointsOfEach: 20, perSecond };
  const order: StreamOrder = { ingress, gateway, sources, viewersOfEach: 1, ...posts };
  return ((await (await ready('./stream-load.js', order))()) as StreamReport).delays;
}

async function commandDelays(to: Target, from = to): Promise<CommandTimes> {
  const order: CommandOrder = { target: targetOf(to), sender: targetOf(from), devices: sources, commands: perSecond * seconds, perSecond };
  return (await (
    await ready('./command-load.js', order)
  )()) as CommandTimes;
}

/** Milliseconds from sending a record to Kafka until a consumer has it, with kafkajs as it comes. */
async function hopDelays(brokers: string): Promise<readonly number[]> {
  const order: HopOrder = { brokers, records: perSecond * seconds, bytes: hopBytes, perSecond };
  return ((await (await ready('./hop-load.js', order))()) as HopReport).delays;
}

/** Runs the sides in turn, once before it counts. */
async function inTurn<T>(sides: readonly (() => Promise<T>)[], pairs: number): Promise<readonly T[][]> {
  const reports: T[][] = sides.map(() => []);
  for (let pair = -1; pair < pairs; pair++) {
    for (const [at, run] of sides.entries()) {
      const report = await run();
      if (pair >= 0) reports[at]!.push(report);
    }
  }
  return reports;
}

function printDelays(figure: string, ours: readonly (readonly number[])[], floor: readonly (readonly number[])[]): void {
  const over = (of: readonly (readonly number[])[], share: 'p50' | 'p99'): number[] => of.map((delays) => percentiles(delays)[share]);
  print(figure, {
    'p50, ms': spread(over(ours, 'p50'), 2),
    'floor p50, ms': spread(over(floor, 'p50'), 2),
    'ratio of p50 to the floor': spread(ratios(over(ours, 'p50'), over(floor, 'p50')), 2),
    'p99, ms': spread(over(ours, 'p99'), 1),
    'floor p99, ms': spread(over(floor, 'p99'), 1),
  });
}

const aHop = 'a record from a producer to a consumer';
const rate = `${perSecond}/s over ${sources} devices, ${seconds} s`;

const toFrame = 'from POST /ingest of 20 points to the frame of a viewer';
const toAnswer = 'from POST of a command to the answer that its device has it';
const toOutcome = "from POST of a command to the device's own answer on the stream of events";
const answersOf = (reports: readonly CommandTimes[]): readonly (readonly number[])[] => reports.map(({ answers }) => answers);
const outcomesOf = (reports: readonly CommandTimes[]): readonly (readonly number[])[] => reports.map(({ outcomes }) => outcomes);

async function runStream({ pairs }: Asked): Promise<void> {
  await onBoth(async (...sides) => {
    const runs = sides.map((side) => () => streamDelays(side));
    const [ours, floor] = await inTurn(runs, pairs);
    printDelays(`G8: ${toFrame}, ${rate}, ${pairs} pairs`, ours!, floor!);
  });
}

async function runCommand({ pairs }: Asked): Promise<void> {
  await onBoth(async (...sides) => {
    const runs = sides.map((side) => () => commandDelays(side));
    const [ours, floor] = await inTurn(runs, pairs);
    printDelays(`G9: ${toAnswer}, ${rate}, ${pairs} pairs`, answersOf(ours!), answersOf(floor!));
    printDelays(`G9: ${toOutcome}, ${rate}, ${pairs} pairs`, outcomesOf(ours!), outcomesOf(floor!));
  });
}

async function runCluster({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress', 'gateway', 'gateway'] });
  try {
    const [ingress, gateway, other] = [cluster.role('ingress'), cluster.role('gateway'), cluster.role('gateway', 1)];
    const hop = (): Promise<readonly number[]> => hopDelays(cluster.brokers);
    const against = `against ${aHop}, ${rate}, ${pairs} pairs`;
    const [frames, beside] = await inTurn([() => streamDelays(ingress, gateway), hop], pairs);
    printDelays(`live, G8: ${toFrame}, ${against}`, frames!, beside!);
    for (const [through, from] of [
      ['the gateway of the device', gateway],
      ['another gateway', other],
    ] as const) {
      const reports: CommandTimes[] = [];
      const command = async (): Promise<readonly number[]> => {
        const report = await commandDelays(gateway, from);
        reports.push(report);
        return report.answers;
      };
      const [answers, hops] = await inTurn([command, hop], pairs);
      printDelays(`live, G9: ${toAnswer}, through ${through}, ${against}`, answers!, hops!);
      printDelays(`live, G9: ${toOutcome}, through ${through}, ${against}`, outcomesOf(reports.slice(1)), hops!);
    }
  } finally {
    await cluster.stop();
  }
}

export const latencyFigures: readonly Figure[] = [
  { names: { G8: toFrame }, shape: 'embedded', run: runStream },
  { names: { G9: `${toAnswer}, and to its own answer` }, shape: 'embedded', run: runCommand },
];

/** Both in a cluster. */
export const liveFigure: Figure = { names: { live: 'G8 and G9 in a cluster' }, shape: 'cluster', run: runCluster };
