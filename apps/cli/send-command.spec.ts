import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, makeKeysIn, startEmbedded } from '#testing';
import { openStorage } from '#sqlite';
import { newFolder, run, type Ran } from './test-run.js';

const device = fileURLToPath(new URL('../../../infra/examples/device.js', import.meta.url));
const dataDir = newFolder();
let env: Record<string, string>;
let end: () => Promise<void>;

beforeAll(async () => {
  const storage = await openStorage(dataDir);
  const { own } = await makeKeysIn(storage.log);
  await storage.close();
  const server = await startEmbedded({ dataDir });
  env = { HEADWATER_URL: server.url, HEADWATER_API_KEY: own };
  const child = spawn(process.execPath, [device, 'pump'], { env, stdio: 'ignore' });
  end = async () => {
    child.kill();
    await server.stop();
  };
  await eventually(async () => {
    const answer = await fetch(`${server.url}/v1/sources/pump`, { headers: { 'x-api-key': own } });
    expect(await answer.json()).toMatchObject({ online: true });
  });
}, 60_000);

afterAll(() => end());

describe('headwater command, to the device of the README', () => {
  const send = (...args: readonly string[]): Promise<Ran> => run(['command', ...args], { env });

  it('prints the result with --wait', async () => {
    expect(await send('pump', 'set_fan', '--params', '{"rpm": 900}', '--wait')).toEqual({ code: 0, stdout: '{"rpm":900}\n', stderr: '' });
  });

  it('says what the device answered with an error, and fails', async () => {
    const { code, stdout, stderr } = await send('pump', 'fly', '--wait');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('I cannot fly.')]);
  });

  it('prints the id without --wait', async () => {
    expect(await send('pump', 'set_fan')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[A-Za-z0-9_-]{1,30}\n$/) });
  });

  it.each([
    [['nobody', 'set_fan'], 1, 'did not get the command'],
    [['-a', 'set_fan'], 2, ''],
    [['pump'], 2, 'NAME'],
    [['pump', 'x'.repeat(129)], 2, '1 to 128 characters'],
    [['pump', 'set_fan', '--params', '[]'], 2, 'give a JSON object'],
    [['pump', 'set_fan', '--timeout', 'soon'], 2, 'give whole seconds'],
  ])('%j ends with %i', async (args, expected, said) => {
    const { code, stdout, stderr } = await send(...args);
    expect([code, stdout, stderr]).toEqual([expected, '', expect.stringContaining(said)]);
  });
});
