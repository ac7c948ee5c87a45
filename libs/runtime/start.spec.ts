import { afterAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startEmbedded } from '#testing';

const dataDir = mkdtempSync(join(tmpdir(), 'headwater-start-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const json = async (url: string, key = ''): Promise<unknown> => (await fetch(url, { headers: { 'x-api-key': key } })).json();

async function post(url: string, key: string, value: number): Promise<number> {
  const body = JSON.stringify({ source_id: 's', points: [{ metric: 'm', value }] });
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

  it('answers probes without a key, and figures on its other port', async () => {
    const server = await startEmbedded({ dataDir });
    expect(await json(`${server.url}/health`)).toEqual({ status: 'ok' });
    expect(await json(`${server.url}/health/live`)).toEqual({ status: 'ok' });
    expect(await json(`${server.url}/health/ready`)).toEqual({ status: 'ready', reasons: [] });
    const figures = await (await fetch(`${server.adminUrl}/metrics`)).text();
    expect(figures).toContain('headwater_http_requests_total{method="GET",route="/health/ready",status="200"} 1\n');
    expect(figures.match(/^# HELP /gm)?.length).toBe(figures.match(/^# TYPE /gm)?.length);
    expect((await fetch(`${server.adminUrl}/`)).status).toBe(404);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    await server.stop();
    await expect(fetch(`${server.adminUrl}/metrics`)).rejects.toThrow('fetch failed');
  });
});
