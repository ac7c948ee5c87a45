import type { CommandOrder, CommandReport } from './command-load.js';
import { onBoth } from './live-servers.js';
import { ready } from './processes.js';
import { percentiles, print, ratios, spread, type Asked, type Figure } from './report.js';
import type { ServerProcess, Target } from './server-process.js';
import type { StreamOrder, StreamReport } from './stream-load.js';

const sources = 100;
const perSecond = 100;
const seconds = 10;

const targetOf = ({ url, key }: Target): Target => ({ url, key });

/** Milliseconds from sending points until their viewer has them. */
async function streamDelays(to: Target): Promise<readonly number[]> {
  const order: StreamOrder = { target: targetOf(to), sources, viewersOfEach: 1, posts: perSecond * seconds, pointsOfEach: 20, perSecond };
  return ((await (await ready('./stream-load.js', order))()) as StreamReport).delays;
}

async function commandDelays(to: Target): Promise<CommandReport> {
  const order: CommandOrder = { target: targetOf(to), devices: sources, commands: perSecond * seconds, perSecond };
  return (await (
    await ready('./command-load.js', order)
  )()) as CommandReport;
}

/** Runs both sides in turn, once before it counts. */
async function inTurn<T>(sides: readonly ServerProcess[], pairs: number, run: (target: Target) => Promise<T>): Promise<readonly T[][]> {
  const reports: T[][] = sides.map(() => []);
  for (let pair = -1; pair < pairs; pair++) {
    for (const [at, side] of sides.entries()) {
      const report = await run(side);
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

const rate = `${perSecond}/s over ${sources} devices, ${seconds} s`;

async function runStream({ pairs }: Asked): Promise<void> {
  await onBoth(async (...sides) => {
    const [ours, floor] = await inTurn(sides, pairs, (side) => streamDelays(side));
    printDelays(`G8: from POST /ingest of 20 points to the frame of a viewer, ${rate}, ${pairs} pairs`, ours!, floor!);
  });
}

async function runCommand({ pairs }: Asked): Promise<void> {
  await onBoth(async (...sides) => {
    const [ours, floor] = await inTurn(sides, pairs, commandDelays);
    const compare = (what: string, of: (report: CommandReport) => readonly number[]): void =>
      printDelays(`G9: from POST of a command to ${what}, ${rate}, ${pairs} pairs`, ours!.map(of), floor!.map(of));
    compare('the answer that its device has it', ({ answers }) => answers);
    compare("the device's own answer on the stream of events", ({ outcomes }) => outcomes);
  });
}

export const latencyFigures: readonly Figure[] = [
  { names: ['G8'], shape: 'embedded', run: runStream },
  { names: ['G9'], shape: 'embedded', run: runCommand },
];
