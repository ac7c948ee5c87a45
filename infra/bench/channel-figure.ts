import { charge, counted } from './ingest-figures.js';
import { print, ratios, spread, type Asked, type Figure } from './report.js';
import { ServerProcess, until } from './server-process.js';
import { dayStartMs, pointsOf, type Shape } from './shapes.js';

const metrics = 20;
const common = { metrics, gzip: false, about: '' };
const shapes: readonly Shape[] = [
  { ...common, name: '1-point', metrics: 1, pointsPerBody: 1, sources: 64, connections: 64, bodies: 40_000 },
  { ...common, name: '100-point', pointsPerBody: 100, sources: 64, connections: 64, bodies: 16_000 },
  { ...common, name: '10,000-point', pointsPerBody: 10_000, sources: 8, connections: 8, bodies: 200 },
];

async function run({ pairs }: Asked): Promise<void> {
  const server = await ServerProcess.embedded();
  const startMs = dayStartMs(Date.now());
  let [firstSource, sent] = [0, 0];
  const cpuPerMpt = async (shape: Shape, loader: './load.js' | './frame-load.js'): Promise<number> => {
    const { cpuPerMpt: cost } = await charge(server, { ...shape, firstSource }, startMs, loader);
    firstSource += shape.sources;
    sent += pointsOf(shape);
    return cost;
  };
  try {
    for (const shape of shapes) {
      const [frames, bodies]: [number[], number[]] = [[], []];
      // The first of each is for the just-in-time compiler.
      for (let pair = -1; pair < pairs; pair++) {
        const [frame, body] = [await cpuPerMpt(shape, './frame-load.js'), await cpuPerMpt(shape, './load.js')];
        if (pair < 0) continue;
        frames.push(frame);
        bodies.push(body);
      }
      print(
        `channel: ${shape.name} frames of ${shape.sources} devices, acknowledged, against requests of as many connections, ${pairs} pairs`,
        {
          'frames, cpu-s per million points': spread(frames, 2),
          'requests, cpu-s per million points': spread(bodies, 2),
          'ratio to requests': spread(ratios(frames, bodies), 2),
        },
      );
    }
    let seen = 0;
    await until(async () => (seen = await counted(server, metrics, startMs)) === sent, 20_000).catch(() => {
      throw new Error(`channel: ${sent} points were accepted and ${seen} can be read: the run is void`);
    });
  } finally {
    await server.remove();
  }
}

/** Telemetry of connected devices, beside the same as requests. */
export const channelFigure: Figure = {
  names: { channel: 'frames of connected devices, against the same points in requests' },
  shape: 'embedded',
  run,
};
