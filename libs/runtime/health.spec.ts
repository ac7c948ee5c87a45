import { expect, it } from '@jest/globals';
import { createHttpApp, Readiness } from '#edge';
import { MemoryLog, MemoryModule } from '#testing';
import { HealthController } from './health.controller.js';

it('is not ready for a reason', async () => {
  const app = await createHttpApp({ module: class Role {}, imports: [MemoryModule.of(new MemoryLog())], controllers: [HealthController] });
  await app.listen(0, '127.0.0.1');
  let reason: string | undefined = 'The log is silent.';
  app.get(Readiness).add(() => reason);
  const ask = async (path: string): Promise<Response> => fetch(`${await app.getUrl()}/health/${path}`);

  const answer = await ask('ready');
  expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('content-type')]).toEqual([
    503,
    '1',
    'application/problem+json',
  ]);
  expect(await answer.json()).toMatchObject({ code: 'not_ready', detail: 'The log is silent.', reasons: ['The log is silent.'] });
  expect((await ask('live')).status).toBe(200);
  reason = undefined;
  expect((await ask('ready')).status).toBe(200);
  await app.close();
});
