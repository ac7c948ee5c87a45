import { afterAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startEmbedded } from '#testing';
import type { Running } from './start.js';

const dataDir = mkdtempSync(join(tmpdir(), 'headwater-start-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const json = async (url: string, key = ''): Promise<unknown> => (await fetch(url, { headers: { 'x-api-key': key } })).json();

const post = (url: string, key: string, value: number): Promise<number> =>
  postBody(url, key, { source_id: 's', points: [{ metric: 'm', value }] });

async function postBody(url: string, key: string, sent: object): Promise<number> {
  const body = JSON.stringify(sent);
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  return (await fetch(`${url}/ingest`, { method: 'POST', headers, body })).status;
}

describe('an embedded server', () => {
  it('goes on where it was after a stop, a crash, and a start that failed', async () => {
    const first = await startEmbedded({ dataDir });
    const key = first.firstKey!;
    expect(await post(first.url, key, 1)).toBe(200);
    await first.stop();

    const second = await startEmbedded({ dataDir });
    expect(second.firstKey).toBeUndefined();
    expect(await post(second.url, key, 2)).toBe(200);
    await second.crash();

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(startEmbedded({ dataDir, port })).rejects.toThrow(`Port ${port} is taken`);
    await expect(startEmbedded({ dataDir, adminPort: port })).rejects.toThrow(`Port ${port} is taken`);
    taken.close();
    await expect(startEmbedded({ dataDir, host: '192.0.2.1' })).rejects.toThrow('HEADWATER_HOST is not an address of this machine.');
    await expect(startEmbedded({ dataDir, adminHost: '192.0.2.1' })).rejects.toThrow(
      'HEADWATER_ADMIN_HOST is not an address of this machine.',
    );

    const last = await startEmbedded({ dataDir });
    await eventually(async () => {
      const { series } = (await json(`${last.url}/v1/sources/s/metrics/query?last=5m`, key)) as { series: { m: { value: number[] } } };
      expect(series.m.value).toEqual([1, 2]);
    });
    await last.stop();
  });

  it('makes a store that is missing again from the log before it says that it is ready', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-start-'));
    const first = await startEmbedded({ dataDir: folder });
    const key = first.firstKey!;
    const body = (from: number): object => ({
      source_id: 's',
      points: Array.from({ length: 5000 }, (_, at) => ({
        metric: `m${at % 7}`,
        value: from + at,
        timestamp: 1_700_000_000_000 + from + at,
      })),
    });
    const said = { source_id: 's', points: [{ class: 'event', metric: 'e', value: 'v', timestamp: 1_700_000_000_000 }] };
    for (const sent of [body(0), body(5000), said, { source_id: 's', points: [{ metric: 'm', value: 1 }] }]) {
      expect(await postBody(first.url, key, sent)).toBe(200);
    }
    const window = 'start=2023-11-14&end=2023-11-15';
    const paths = [
      `/v1/sources/s/metrics/query?${window}&interval=raw`,
      `/v1/sources/s/metrics/query?${window}&interval=1m`,
      '/v1/sources/s/metrics',
      '/v1/sources/s/metrics/latest',
      `/v1/sources/s/logs?${window}`,
      `/v1/fleet/metrics?metric=m1&${window}`,
    ];
    const answersOf = ({ url }: Running): Promise<readonly unknown[]> => Promise.all(paths.map((path) => json(`${url}${path}`, key)));
    await eventually(async () => expect((await fetch(`${first.url}/health/ready`)).status).toBe(200));
    const before = await answersOf(first);
    expect(JSON.stringify(before)).toContain('"m3"');
    await first.stop();

    rmSync(join(folder, 'store.db'));
    const second = await startEmbedded({ dataDir: folder });
    for (let status = 503; status !== 200;) ({ status } = await fetch(`${second.url}/health/ready`));
    expect(await answersOf(second)).toEqual(before);
    await second.stop();
    rmSync(folder, { recursive: true });
  });

  it('is not ready, and says why, while its folder is gone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-start-'));
    const server = await startEmbedded({ dataDir: folder });
    const key = server.firstKey!;
    const figures = async (): Promise<string> => (await fetch(`${server.adminUrl}/metrics`)).text();
    const up = (value: number): string => `headwater_dependency_up{dependency="data_folder"} ${value}\n`;
    await eventually(async () => expect((await fetch(`${server.url}/health/ready`)).status).toBe(200));
    expect(await figures()).toContain(up(1));
    expect(await figures()).toContain('headwater_ready 1\n');

    renameSync(folder, `${folder}.moved`);
    expect(await post(server.url, key, 1)).toBe(503);
    const ready = await fetch(`${server.url}/health/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { reasons: [expect.stringContaining('.journal was deleted or replaced')] },
    ]);
    expect(await figures()).toContain(up(0));
    expect(await figures()).toContain('headwater_ready 0\n');

    renameSync(`${folder}.moved`, folder);
    expect(await post(server.url, key, 1)).toBe(200);
    await eventually(async () => expect((await fetch(`${server.url}/health/ready`)).status).toBe(200));
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('takes all devices that its folder knows, and of others as many as its settings allow', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-start-'));
    const first = await startEmbedded({ dataDir: folder });
    const send = ({ url }: Running, ...sources: readonly string[]): Promise<number> =>
      postBody(url, first.firstKey!, { points: sources.map((source_id) => ({ source_id, metric: 'm', value: 1 })) });
    expect(await send(first, 'a', 'b')).toBe(200);
    await first.stop();
    const second = await startEmbedded({ dataDir: folder, maxSources: 1 });
    expect(await send(second, 'a', 'b')).toBe(200);
    expect([await send(second, 'c'), await send(second, 'd'), await send(second, 'a', 'b')]).toEqual([200, 429, 200]);
    const figures = await (await fetch(`${second.adminUrl}/metrics`)).text();
    expect(figures).toContain('headwater_bodies_with_too_many_names_total{limit="sources"} 1\n');
    await second.stop();
    rmSync(folder, { recursive: true });
  });

  it('answers probes without a key, and figures on its other port', async () => {
    const server = await startEmbedded({ dataDir });
    expect(await json(`${server.url}/health`)).toEqual({ status: 'ok' });
    expect(await json(`${server.url}/health/live`)).toEqual({ status: 'ok' });
    expect(await json(`${server.url}/health/ready`)).toEqual({ status: 'ready', reasons: [], warnings: [] });
    const figures = await (await fetch(`${server.adminUrl}/metrics`)).text();
    expect(figures).toContain('headwater_http_requests_total{method="GET",route="/health/ready",status="200"} 1\n');
    expect(figures).toContain('headwater_dead_letters{topic="telemetry.points.v1.dlq"} 0\n');
    expect(figures.match(/^# HELP /gm)?.length).toBe(figures.match(/^# TYPE /gm)?.length);
    expect((await fetch(`${server.adminUrl}/`)).status).toBe(404);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    await server.stop();
    await expect(fetch(`${server.adminUrl}/metrics`)).rejects.toThrow('fetch failed');
  });
});
