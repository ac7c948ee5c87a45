import { expect } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { openStores, readConfig, rebuildDataPlane, withLog, type Config } from '#runtime';
import { projections } from '#topics';
import { run } from '../../../apps/cli/test-run.js';
import { eventually } from '../eventually.js';
import { verifySource } from '../exactness/verify.js';
import { World, type SentBody } from '../exactness/world.js';
import { ApiClient } from '../http/client.js';
import { Random } from '../random.js';
import type { Stage } from './stage.js';

const dayMs = 86_400_000;
const prefix = 'new-';
const sizes = [
  ['1m', 60_000],
  ['1h', 3_600_000],
  ['1d', dayMs],
] as const;
const rounds = 20;
/** New sources in a round: a slow machine, whose rounds take longer, is given no more to do than a fast one. */
const maxNew = 400;
/** Of a new source. Each round writes every source that has appeared, into each of its days. */
const maxDays = 3;
const everyMs = 500;
const patienceMs = 120_000;
/** QuestDB's dictionaries begin with so many places, and names are overlooked once most are taken. */
const atLeast = 300;

/**
 * The projections are made again, by `rebuild` and by `verify --repair` in turn, while sources that have seen some days appear all the
 * time; after each round all that was sent is compared with the ledger.
 */
export async function makeAgainBesideNewSources({ cluster, seed }: Stage): Promise<void> {
  const random = new Random(seed);
  const world = new World();
  const client = new ApiClient(() => cluster.urls, cluster.keys.own);
  const config = readConfig(cluster.environment);
  let made = 0;
  /** One request with so many new sources, each of which has seen some days. */
  const appear = async (together: number): Promise<void> => {
    const body = histories(random, together, made);
    made += together;
    await eventually(() => client.accepted(body));
    world.accept(body);
  };
  for (let tens = 0; tens < atLeast / 10; tens++) await appear(10);
  for (let round = 0; round < rounds; round++) {
    const over = new AbortController();
    const appearing = (async () => {
      for (let fresh = 0; fresh < maxNew && !over.signal.aborted; fresh++) {
        await appear(1);
        await pause(everyMs);
      }
    })();
    const making =
      round % 2 === 0
        ? rebuildDataPlane(config, { told: () => undefined, lags: () => undefined, leaveMs: 3000 })
        : repair(cluster.environment);
    await making.finally(() => over.abort());
    await appearing;
    // Other devices go on sending, so there is no moment without lag: what is told once is there for good.
    await eventually(async () => expect(differing(await rowsOfLive(config), rowsToldOf(world))).toEqual([]), patienceMs);
    for (const [id, source] of random.shuffled([...world.sources]).slice(0, 20)) await verifySource(client, id, source, random);
    process.stderr.write(`round ${round + 1}: ${made} sources are as told\n`);
  }
}

/** The first lines that only one side has. */
function differing(found: readonly string[], told: readonly string[]): string[] {
  const [here, there] = [new Set(found), new Set(told)];
  const more = found.filter((line) => !there.has(line)).map((line) => `found ${line}`);
  return [...more, ...told.filter((line) => !here.has(line)).map((line) => `missing ${line}`)].slice(0, 10);
}

async function repair(env: Readonly<Record<string, string>>): Promise<void> {
  const { code, stdout, stderr } = await run(['verify', '--repair', '--json'], { env });
  expect({ code, stderr, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, first: [] });
}

/** Every row of the generation that readers use, but for those of other loads, as lines in order. */
async function rowsOfLive(config: Config): Promise<string[]> {
  const { live } = await withLog(config, async ({ views }) => {
    const view = views.open(projections);
    await view.ready;
    return view.get('telemetry')!;
  });
  const stores = await openStores(config, Date.now);
  const lines: string[] = [];
  for await (const { what, row } of stores.rows(live)) {
    const [timeMs, , source, metric, ...rest] = row;
    if (!source?.startsWith(prefix) || what === 'metric names') continue;
    const [min, max, , count] = rest;
    lines.push([what, source, metric, timeMs, ...(what === 'raw' ? rest.slice(1) : [min, max, count])].join(' '));
  }
  await stores.close();
  return lines.sort();
}

function rowsToldOf(world: World): string[] {
  const lines: string[] = [];
  for (const [source, { series }] of world.sources) {
    for (const [metric, points] of series) {
      const all = [...points.values()];
      for (const { timestampMs, value } of all) lines.push(['raw', source, metric, timestampMs, value].join(' '));
      for (const [what, sizeMs] of sizes) {
        for (const [startMs, its] of Map.groupBy(all, ({ timestampMs }) => timestampMs - (timestampMs % sizeMs))) {
          const values = its.map(({ value }) => value);
          lines.push([what, source, metric, startMs, Math.min(...values), Math.max(...values), values.length].join(' '));
        }
      }
    }
  }
  return lines.sort();
}

/** Few points in each of some days for each source, in an order that makes hours and days from several checkpoints. */
function histories(random: Random, count: number, from: number): SentBody {
  const nowMs = Date.now();
  const points = Array.from({ length: count }, (_, at) => {
    const days = random.whole(1, maxDays);
    return Array.from({ length: 20 }, (_nothing, index) => ({
      source_id: `${prefix}${from + at}`,
      metric: random.pick(['temp', 'rpm']),
      value: index,
      timestamp: nowMs - random.whole(0, days * dayMs),
    }));
  });
  return { points: points.flat() };
}
