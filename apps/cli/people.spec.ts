import { expect, it } from '@jest/globals';
import { openStorage } from '#sqlite';
import { newFolder, run, type Ran } from './test-run.js';
import { serve, stop } from './test-serve.js';

const password = 'correct horse battery';

it('people are invited, listed, removed and let back in on the folder of a stopped server', async () => {
  const data = newFolder();
  await (await openStorage(data)).close();
  const env = { HEADWATER_PUBLIC_URL: 'https://telemetry.example.com' };
  const people = (...args: readonly string[]): Promise<Ran> => run(['people', ...args, '--data', data], { env });
  expect(await people('list')).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no such organization') });
  await run(['org', 'create', '--name', 'Plant 7', '--data', data]);
  const links = [await people('invite'), await people('invite', '--role', 'viewer', '--email', 'Bob@Example.com')].map(({ stdout }) =>
    stdout.trim(),
  );
  for (const link of links) expect(link).toMatch(/^https:\/\/telemetry\.example\.com\/join\/[\w-]{43}$/);
  expect(await people('invite', '--role', 'king')).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no role "king"') });
  expect(await people('invite', '--email', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('must be an e-mail address'),
  });

  const first = await serve(data);
  const ask = async (base: string, path: string, body: object): Promise<number> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${base}/api/${path}`, init)).status;
  };
  const emails = ['ada@example.com', 'bob@example.com'];
  for (const [at, email] of emails.entries())
    expect(await ask(first.url, 'invitations/accept', { token: links[at]!.split('/').at(-1), email, password })).toBe(200);
  await stop(first.child, 'SIGTERM');

  const { stdout } = await people('list');
  expect(stdout).toMatch(/^EMAIL +ROLE *\nada@example\.com +owner +since .*\nbob@example\.com +viewer +since .*\n$/);
  expect(await people('remove', 'ada@example.com')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('an organization keeps one'),
  });
  expect(await people('remove', 'bob@example.com')).toEqual({ code: 0, stdout: '', stderr: 'Removed bob@example.com from Plant 7.\n' });
  expect(await people('remove', 'eve@example.com')).toMatchObject({ code: 1, stderr: expect.stringContaining('Nobody has an account') });
  const reset = (await people('reset', 'ada@example.com')).stdout.trim();
  expect(reset).toMatch(/^https:\/\/telemetry\.example\.com\/reset\/[\w-]{43}$/);

  const second = await serve(data);
  expect(await ask(second.url, 'auth/sign-in', { email: emails[0], password })).toBe(200);
  expect(await ask(second.url, 'auth/password/reset', { token: reset.split('/').at(-1), password: 'another long one' })).toBe(200);
  expect(await ask(second.url, 'auth/sign-in', { email: emails[0], password })).toBe(401);
  expect(await ask(second.url, 'auth/sign-in', { email: emails[0], password: 'another long one' })).toBe(200);
  await stop(second.child, 'SIGTERM');
}, 120_000);
