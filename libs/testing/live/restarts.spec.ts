import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { send } from '../http/send.js';
import { SocketClient } from '../http/socket-client.js';

let deployment: EmbeddedDeployment;

beforeAll(async () => {
  deployment = await EmbeddedDeployment.start();
});

afterAll(() => deployment.stop());

async function connect(sourceId: string): Promise<SocketClient> {
  const device = await SocketClient.open(deployment.urls.ingest, '/ws/device');
  device.send({ type: 'device_auth', api_key: deployment.keys.own, source_id: sourceId, acks: true });
  expect(await device.json()).toMatchObject({ type: 'authenticated' });
  return device;
}

const telemetry = (seq: number): unknown => ({ type: 'telemetry', seq, points: [{ metric: 'm', value: seq, timestamp: seq * 1e12 }] });

async function get<T>(path: string): Promise<T> {
  const { text } = await send(deployment.urls.api, { path, headers: { 'x-api-key': deployment.keys.own } });
  return JSON.parse(text) as T;
}

const onlineNow = async (): Promise<readonly string[]> =>
  (await get<{ devices: { source_id: string }[] }>('/v1/sources?status=online')).devices.map(({ source_id }) => source_id);

describe('a server that', () => {
  it('stops acknowledges what it has taken, and closes with 1001', async () => {
    const [busy, idle] = [await connect('busy'), await connect('idle')];
    for (let seq = 1; seq <= 30; seq++) busy.send(telemetry(seq));
    expect(await busy.json()).toMatchObject({ type: 'telemetry_ack' });
    const restarted = deployment.restart();
    expect([await busy.end(), await idle.end()]).toEqual([1001, 1001]);
    await restarted;
    expect(await onlineNow()).toEqual([]);
    const left = busy.left.map((frame) => JSON.parse(frame) as { seq: number });
    for (const frame of left) expect(frame).toEqual({ type: 'telemetry_ack', seq: expect.any(Number) });
    const acknowledged = Math.max(1, ...left.map(({ seq }) => seq));
    await deployment.settle();
    const { series } = await get<{ series: { m: { value: number[] } } }>(
      '/v1/sources/busy/metrics/query?interval=raw&start=2000-01-01T00:00:00Z&end=2999-01-01T00:00:00Z',
    );
    expect(series.m.value).toEqual(expect.arrayContaining(Array.from({ length: acknowledged }, (_, at) => at + 1)));
  });

  it('crashed has no source online until it connects again', async () => {
    const device = await connect('crashed');
    expect(await onlineNow()).toEqual(['crashed']);
    await deployment.crash();
    expect(await device.end()).toBe(1006);
    expect(await onlineNow()).toEqual([]);
    const again = await connect('crashed');
    expect(await onlineNow()).toEqual(['crashed']);
    await again.close();
  });
});
