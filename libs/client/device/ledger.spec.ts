import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { Link, startEmbedded, tryDevice } from '#testing';

let dir: string;
let server: Running;
let key: string;
let link: Link;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  await startServer();
  key = server.firstKey!;
  link = await Link.to(() => Number(new URL(server.url).port));
});

afterAll(async () => {
  link.close();
  await server.stop();
  await rm(dir, { recursive: true });
});

async function startServer(): Promise<void> {
  server = await startEmbedded({ dataDir: join(dir, 'data') });
  await server.opened;
}

describe('random cuts, silences, crashes of the server and restarts of the device', () => {
  it.each([1, 2])('leave every point stored once, in the order of the stamps (seed %i)', async (seed) => {
    let crashes = 0;
    const crash = async (): Promise<void> => {
      crashes++;
      await server.crash();
      await startServer();
    };
    const ground = { link, key, url: () => server.url, folder: join(dir, `seed-${seed}`), crash };
    expect(await tryDevice(seed, ground)).toBeGreaterThan(1000);
    expect(crashes).toBe(1);
  });
});
