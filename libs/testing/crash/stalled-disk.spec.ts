import { execFileSync } from 'node:child_process';
import { access, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { send, type Answer } from '../http/send.js';
import { ServerProcess } from './server-process.js';

const itWithPipes = process.platform === 'win32' ? it.skip : it;

itWithPipes('a disk that stalls holds up who sends, and nobody who reads; once it goes on everything is there', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'headwater-stalled-'));
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  process.env['STALLED_BY'] = pipe;
  const server = await ServerProcess.on(join(dir, 'data'), '--import', new URL('./stalled-pool.js', import.meta.url).href);
  await server.start();
  delete process.env['STALLED_BY'];
  const get = (path: string): Promise<Answer> => send(server.url, { path, headers: { 'x-api-key': server.key ?? '' } });
  await eventually(async () => expect((await get('/v1/sources')).status).toBe(200));
  const beganMs = Date.now() - 1_000;
  const post = (value: number): Promise<Answer> => {
    const body = JSON.stringify({ source_id: 's', points: [{ metric: 'm', value, timestamp: beganMs + value }] });
    return send(server.url, {
      method: 'POST',
      path: '/ingest',
      headers: { 'x-api-key': server.key!, 'content-type': 'application/json' },
      body,
    });
  };
  const latest = async (): Promise<unknown> => JSON.parse((await get('/v1/sources/s/metrics/latest')).text);
  expect((await post(1)).status).toBe(200);
  const before = { metrics: { m: 1 } };
  await eventually(async () => expect(await latest()).toEqual(before));

  process.kill(server.pid!, 'SIGUSR2');
  await eventually(() => access(`${pipe}.stalled`));
  let answered = 0;
  const posted = Array.from({ length: 20 }, async (_, n) => {
    const { status } = await post(2 + n);
    answered++;
    return status;
  });
  for (let n = 0; n < 100; n++) expect(await latest()).toEqual(before);
  expect(answered).toBe(0);

  const goesOn = await open(pipe, 'w');
  expect(new Set(await Promise.all(posted))).toEqual(new Set([200]));
  expect(await latest()).not.toEqual(before);
  await goesOn.close();
  await server.stop();
  await rm(dir, { recursive: true });
});
