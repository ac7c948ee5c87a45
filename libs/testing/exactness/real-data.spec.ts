import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { ApiClient } from '../http/client.js';
import { Random } from '../random.js';
import { verifySource } from './verify.js';
import { World, type SentPoint } from './world.js';

// Compiled tests run in dist/; the data stays where it is.
const folder = new URL('../../../../libs/testing/data/nab/', import.meta.url);
const seed = Number(process.env['NAB_SEED'] ?? Math.floor(Math.random() * 1e6));
const perBody = 1000;

/** The points of a file, in its order; its times are UTC. */
function pointsOf(file: string): readonly SentPoint[] {
  const [header, ...lines] = readFileSync(new URL(`${file}.csv`, folder), 'utf8')
    .trim()
    .split('\n');
  if (header?.trim() !== 'timestamp,value') throw new Error(`${file} begins with ${header}`);
  return lines.map((line) => {
    const [time = '', value] = line.trim().split(',');
    return { metric: file, value: Number(value), timestamp: Date.parse(`${time.replace(' ', 'T')}Z`) };
  });
}

/** Three parts that overlap, so that some points come twice. */
function parts(points: readonly SentPoint[]): (readonly SentPoint[])[] {
  const at = (share: number): number => Math.floor(share * points.length);
  return [points.slice(0, at(0.45)), points.slice(at(0.35), at(0.75)), points.slice(at(0.65))];
}

const bodies = (points: readonly SentPoint[]): (readonly SentPoint[])[] =>
  Array.from({ length: Math.ceil(points.length / perBody) }, (_, at) => points.slice(at * perBody, (at + 1) * perBody));

describe(`real series, sent in three overlapping parts: NAB_SEED=${seed} npm run jest -- real-data`, () => {
  let deployment: EmbeddedDeployment;
  let client: ApiClient;
  beforeAll(async () => {
    deployment = await EmbeddedDeployment.start();
    client = new ApiClient(() => deployment.urls, deployment.keys.own);
  });
  afterAll(() => deployment.stop());

  it.each([
    ['ambient_temperature_system_failure', 7267, 7267],
    ['ec2_cpu_utilization_24ae8d', 4032, 4032],
    ['ec2_cpu_utilization_5f5533', 4032, 4032],
    // An hour occurs twice in it, with other values: in file order the later line wins.
    ['machine_temperature_system_failure', 22_695, 22_683],
    ['occupancy_6005', 2380, 2380],
    ['speed_6005', 2500, 2500],
  ])('%s: %d lines of %d times', async (file, lines, times) => {
    const random = new Random(seed);
    const points = pointsOf(file);
    const ascending = new Set(points.map(({ timestamp }) => timestamp)).size === points.length;
    expect([points.length, new Set(points.map(({ timestamp }) => timestamp)).size]).toEqual([lines, times]);

    const inFileOrder = parts(points).flatMap(bodies);
    const order = ascending ? random.shuffled(inFileOrder).map((body) => random.shuffled(body)) : inFileOrder;
    const world = new World();
    for (const body of order) {
      await client.accepted({ source_id: file, points: body });
      world.accept({ source_id: file, points: body });
    }
    expect(world.sources.get(file)?.series.get(file)?.size).toBe(times);

    await deployment.settle();
    await verifySource(client, file, world.sources.get(file)!, random);
  });
});
