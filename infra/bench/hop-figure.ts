import { Cluster } from './cluster.js';
import type { HopOrder, HopReport } from './hop-load.js';
import { commandDelays, perSecond, printDelays, rate, streamDelays } from './latency-figures.js';
import { ready } from './processes.js';
import type { Asked, Figure } from './report.js';

const seconds = 10;
/** About what a command takes in the log, and 20 points. */
const bytes = 400;

async function hopDelays(brokers: string): Promise<readonly number[]> {
  const order: HopOrder = { brokers, records: perSecond * seconds, bytes, perSecond };
  return ((await (await ready('./hop-load.js', order))()) as HopReport).delays;
}

async function run({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress', 'gateway'] });
  try {
    const [ingress, gateway] = [cluster.role('ingress'), cluster.role('gateway')];
    const [frames, hops, answers, outcomes]: [...(readonly number[])[][]] = [[], [], [], []];
    // The first of each is for the just-in-time compilers.
    for (let pair = -1; pair < pairs; pair++) {
      const [frame, command] = [await streamDelays(ingress, gateway), await commandDelays(gateway)];
      const hop = await hopDelays(cluster.brokers);
      if (pair < 0) continue;
      frames!.push(frame);
      answers!.push(command.answers);
      outcomes!.push(command.outcomes);
      hops!.push(hop);
    }
    const against = `against a record from a producer to a consumer, ${rate}, ${pairs} pairs`;
    printDelays(`live, G8: from POST /ingest to the frame of a viewer, ${against}`, frames!, hops!);
    printDelays(`live, G9: from POST of a command to the answer that its device has it, ${against}`, answers!, hops!);
    printDelays(`live, G9: to the device's own answer on the stream of events, ${against}`, outcomes!, hops!);
  } finally {
    await cluster.stop();
  }
}

/** Both latencies of live connections in a cluster. */
export const hopFigure: Figure = { names: ['live'], shape: 'cluster', run };
