import { expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { createHttpApp, Readiness } from '#edge';
import { MemoryLog, MemoryModule } from '#testing';
import { HealthController } from './health.controller.js';

@Controller('thing')
class Thing {
  @Get()
  get(): string {
    return 'thing';
  }
}

it('lives, and lets nobody in, until all that it needs is there', async () => {
  const app = await createHttpApp({
    module: class Role {},
    imports: [MemoryModule.of(new MemoryLog())],
    controllers: [HealthController, Thing],
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  const readiness = app.get(Readiness);
  readiness.need(promise);
  await app.listen(0, '127.0.0.1');
  const ask = async (path: string): Promise<(number | string | null)[]> => {
    const answer = await fetch(`${await app.getUrl()}/${path}`);
    const { code = '' } = (await answer.json()) as { readonly code?: string };
    return [answer.status, code, answer.headers.get('retry-after')];
  };
  const all = async (): Promise<unknown> => Promise.all(['health', 'health/live', 'health/ready', 'thing', 'nothing'].map(ask));
  const lives = [200, '', null];
  const away = [503, 'not_ready', '1'];
  expect(await all()).toEqual([lives, lives, away, away, [404, 'unknown_route', null]]);
  expect(readiness.reasons()).toEqual(['What was in the log at the start has not been read yet.']);
  resolve();
  await readiness.opened();
  expect(await all()).toEqual([lives, lives, lives, [401, 'invalid_key', null], [404, 'unknown_route', null]]);
  await app.close();
});

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
  app.get(Readiness).addWarnings(() => ['A record cannot be read.']);
  const ready = await ask('ready');
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', reasons: [], warnings: ['A record cannot be read.'] }]);
  await app.close();
});
