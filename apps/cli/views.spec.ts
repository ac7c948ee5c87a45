import { hash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { openStorage } from '#sqlite';
import { apiKeys } from '#topics';
import { newFolder, run } from './test-run.js';
import { serve, stop } from './test-serve.js';

it('a key whose record cannot be read counts as deleted; the server lives and says so, and a command removes it', async () => {
  const data = newFolder();
  const first = await serve(data);
  await stop(first.child, 'SIGTERM');
  const keyId = `key_${hash('sha256', first.apiKey!, 'hex').slice(0, 24)}`;
  const storage = await openStorage(data);
  await storage.log.appendBytes(apiKeys.name, keyId, Buffer.from('rubbish'), {});
  await storage.close();

  const { child, url, apiKey } = await serve(data);
  // Nobody knows whether there is a key: another one would be a second owner of all data.
  expect(apiKey).toBeUndefined();
  const headers = { 'x-api-key': first.apiKey! };
  expect((await fetch(`${url}/v1/sources`, { headers })).status).toBe(401);
  const ready = await fetch(`${url}/health/ready`);
  const warnings = ['api-keys.v1: 1 record cannot be read: its key is taken as deleted. See `headwater views list`.'];
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', reasons: [], warnings }]);
  await stop(child, 'SIGTERM');

  const list = async (): Promise<unknown> => JSON.parse((await run(['views', 'list', '--data', data, '--json'])).stdout);
  expect(await list()).toMatchObject({ records: [{ topic: apiKeys.name, key: keyId, reason: expect.stringContaining('schema id') }] });
  const remove = (...flags: string[]): ReturnType<typeof run> => run(['views', 'remove', apiKeys.name, '--data', data, ...flags]);
  expect((await remove('--key', 'another')).code).toBe(1);
  expect(await remove('--key', keyId)).toEqual({ code: 0, stdout: '', stderr: 'Removed 1 key of api-keys.v1.\n' });
  expect(await list()).toEqual({ records: [] });
});
