import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, startEmbedded } from '#testing';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { onFolder } from './folder.js';
import type { Running } from './start.js';

const keepLogMs = 86_400_000;

describe('a server that keeps its log for a day', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headwater-keep-log-'));
  let nowMs = Date.now();
  let server: Running;
  let key: string;
  let sent = 0;

  const start = (its: { readonly keepLogMs?: number }): Promise<Running> =>
    startEmbedded({ dataDir, clock: () => nowMs, checkpointMs: 50, ...its });

  async function post(): Promise<void> {
    nowMs += 1_000;
    const body = JSON.stringify({
      source_id: 's',
      points: [
        { metric: 'm', value: ++sent, timestamp: nowMs },
        { class: 'event', metric: 'e', value: `${sent}`, timestamp: nowMs },
      ],
    });
    const answer = await fetch(`${server.url}/ingest`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
  }

  async function answers(path: string): Promise<unknown> {
    return (await fetch(`${server.url}/v1/sources/s/${path}`, { headers: { 'x-api-key': key } })).json();
  }

  /** The server answers with everything that was ever sent. */
  const hasAll = (): Promise<void> =>
    eventually(async () => {
      const all = Array.from({ length: sent }, (_, at) => at + 1);
      expect(await answers('metrics/query?last=400d&interval=raw')).toMatchObject({ series: { m: { value: all } } });
      expect(await answers('logs?last=400d')).toMatchObject(all.map((n) => ({ value: `${n}` })));
    });

  const oldest = (): number =>
    Math.min(
      ...readdirSync(join(dataDir, 'log'))
        .map((name) => Number.parseInt(name))
        .filter(Number.isInteger),
    );

  beforeAll(async () => {
    server = await start({ keepLogMs });
    key = server.firstKey!;
  });
  afterAll(() => server.stop());

  it('drops what is older, a file at a time, and still answers with all of it', async () => {
    for (let hours = 0; oldest() === 0; hours += 3) {
      await post();
      expect(hours).toBeLessThan(10 * 24);
      nowMs += 3 * 3_600_000;
    }
    await hasAll();
  });

  it.each([
    ['a crash', () => server.crash()],
    ['a stop', () => server.stop()],
  ])('answers the same after %s, and its first key is still good', async (_, end) => {
    await end();
    server = await start({ keepLogMs });
    expect(server.firstKey).toBeUndefined();
    await hasAll();
    await post();
    await hasAll();
  });

  it('goes on with a folder that has dropped records when it is told to keep all', async () => {
    await server.stop();
    server = await start({});
    nowMs += 30 * keepLogMs;
    const before = oldest();
    await post();
    await hasAll();
    expect(oldest()).toBe(before);
  });

  it('has a store in which verify finds all that the log still says, also after a rebuild', async () => {
    await server.stop();
    await onFolder(({ rebuild }) => rebuild(dataDir, projectorsOf));
    expect(await onFolder(({ verify }) => verify(dataDir, projectorsOf))).toMatchObject({ differences: 0, first: [] });
    server = await start({});
    await hasAll();
  });
});
