import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Device, findServer, type HeadwaterError, readSettings, type Server } from '#client';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { BadFile, Failure, usage } from './failure.js';
import type { Io } from './io.js';
import { parseScenario, type Scenario, SimulatedDevice, usualScenario } from './simulation.js';
import { counted } from './text.js';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxSources = 10_000;

export const body = command({
  about:
    'Each device keeps a connection, sends metrics with curves of the day, drift, noise and faults of sensors, has events now and then, and ' +
    'carries out the commands `adjust` ({"metric", "by"}) and `restart`. They go on until the command is stopped, or for so long as --for says. ' +
    'A scenario is JSON such as {"metrics": {"oil.pressure": {"mean": 4, "daily": 0.5, "drift": 0.01, "noise": 0.1}}, "events": ' +
    '{"door.opened": 20}, "faults": {"per_day": 4, "minutes": 5}}, where events are counted a day.',
  flags: {
    ...connectionFlags,
    sources: { value: 'N', about: `how many devices, at most ${maxSources}`, default: '50' },
    every: { value: 'TIME', about: 'how often each of them measures: 500ms, 1s, 5m', default: '1s' },
    for: { value: 'TIME', about: 'end after so long' },
    scenario: { value: 'FILE', about: 'what the devices are like' },
    prefix: { value: 'TEXT', about: 'what their ids begin with', default: 'sim-' },
    seed: { value: 'N', about: 'the same number gives the same devices', default: '1' },
  },
  interactive: true,
  examples: ['headwater simulate', 'headwater simulate --sources 500 --every 10s', 'headwater simulate --scenario presses.json --for 1h'],
  async run(flags, io) {
    const [sources, seed] = [whole('--sources', flags.sources, 1, maxSources), whole('--seed', flags.seed, 0, 2 ** 32 - 1)];
    const everyMs = readSpan('--every', flags.every);
    const forMs = flags.for === undefined ? Infinity : readSpan('--for', flags.for);
    const scenario = flags.scenario === undefined ? usualScenario : await readScenario(flags.scenario);
    const { headwater } = await connect(flags, io);
    await headwater.keys.verify({ signal: io.interrupted });
    const server = await findServer(flags, readSettings);
    const fleet = Array.from({ length: sources }, (_, n) => deviceOf(server, `${flags.prefix}${n + 1}`, scenario, seed + n, io));
    try {
      await Promise.all(fleet.map(({ device }) => device.connect({ signal: io.interrupted })));
      io.note(`${counted(sources, 'device')}, ${flags.prefix}1 and on, ${sources === 1 ? 'measures' : 'measure'} every ${flags.every}.`);
      const beginMs = Date.now();
      const turns = fleet.map((one, n) => run(one, beginMs + (n / sources) * everyMs, everyMs, beginMs + forMs, io));
      await Promise.all(turns);
    } finally {
      await Promise.all(fleet.map(({ device }) => device.close()));
      const total = (name: 'stored' | 'handedOver'): number => fleet.reduce((sum, { device }) => sum + device.stats[name], 0);
      io.note(`Stored ${counted(total('stored'), 'point')} of ${total('handedOver').toLocaleString('en')}.`);
    }
    const lost = fleet.reduce((sum, { device }) => sum + device.stats.dropped + device.stats.refused, 0);
    if (lost > 0) throw new Failure(`${counted(lost, 'point')} were not stored.`);
  },
});

interface Simulated {
  readonly device: Device;
  readonly model: SimulatedDevice;
}

function deviceOf({ url, apiKey }: Server, sourceId: string, scenario: Scenario, seed: number, io: Io): Simulated {
  const onError = ({ message }: HeadwaterError): void => io.note(`${sourceId}: ${message}`);
  const model = new SimulatedDevice(scenario, seed);
  const device = new Device({ sourceId, url, apiKey, onError });
  device.command('adjust', ({ metric, by }) => model.adjust(metric, by));
  device.command('restart', () => model.restart());
  return { device, model };
}

/** Lets a device measure, at times of its own. */
async function run({ device, model }: Simulated, firstMs: number, everyMs: number, endMs: number, io: Io): Promise<void> {
  for (let dueMs = firstMs; dueMs < endMs; dueMs = Math.max(dueMs + everyMs, Date.now())) {
    await sleep(Math.max(0, dueMs - Date.now()), undefined, { signal: io.interrupted }).catch(() => io.interrupted.throwIfAborted());
    const { metrics, events } = model.step(Date.now());
    for (const [name, value] of Object.entries(metrics)) device.metric(name, value);
    for (const { name, value } of events) device.event(name, value);
  }
}

async function readScenario(file: string): Promise<Scenario> {
  try {
    return parseScenario(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
    throw new BadFile(`${file} is not a scenario: ${why}`, undefined, { cause });
  }
}

function readSpan(flag: string, text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  const ms = match ? Number(match[1]) * unitMs[match[2]!]! : 0;
  if (ms > 0) return ms;
  throw usage(`${flag} "${text}": give a whole number above 0 and one of ms, s, m, h, d, such as 10s.`);
}

function whole(flag: string, text: string, least: number, most: number): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw usage(`${flag} "${text}": give a whole number from ${least} to ${most}.`);
}
