import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { EmbeddedDeployment, until } from '#testing';
import { newFolder, run, type Ran } from './test-run.js';

let server: EmbeddedDeployment;
let env: Record<string, string>;
let headwater: Headwater;

beforeAll(async () => {
  server = await EmbeddedDeployment.start();
  env = { HEADWATER_URL: server.urls.api, HEADWATER_API_KEY: server.keys.own };
  headwater = new Headwater({ url: server.urls.api, apiKey: server.keys.own });
});
afterAll(() => server.stop());

const simulate = (...args: readonly string[]): Promise<Ran> => run(['simulate', ...args], { env });
const scenarioFile = (json: unknown): string => {
  const file = join(newFolder(), 'scenario.json');
  writeFileSync(file, JSON.stringify(json));
  return file;
};

describe('headwater simulate', () => {
  it('lets devices send what the scenario says, and ends by itself', async () => {
    const file = scenarioFile({ metrics: { 'oil.pressure': { mean: 4 } } });
    const { code, stderr } = await simulate('--sources', '3', '--every', '100ms', '--for', '1s', '--scenario', file);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^3 devices, sim-1 and on, measure every 100ms\.\nStored (\d+) points of \1\.\n$/),
    ]);
    await server.settle();
    expect((await headwater.sources()).map(({ source_id: id }) => id)).toEqual(['sim-1', 'sim-2', 'sim-3']);
    expect(await headwater.source('sim-2').latest()).toEqual({ 'oil.pressure': 4 });
  });

  it('whose devices carry out commands, until Ctrl-C', async () => {
    let interrupt = (): void => undefined;
    const running = run(['simulate', '--sources', '1', '--prefix', 'obeys-'], {
      env,
      during: (child) => (interrupt = () => child.kill('SIGINT')),
    });
    const source = headwater.source('obeys-1');
    await until('it is online', async () => (await source.get().catch(() => undefined))?.online === true);
    const answer = await source.command('adjust', { metric: 'air.temperature', by: 5 }, { wait: true });
    expect(answer.result).toEqual({ metric: 'air.temperature', offset: 5 });
    await expect(source.command('adjust', {}, { wait: true })).rejects.toMatchObject({
      message: expect.stringContaining('one of air.temperature'),
    });
    interrupt();
    expect(await running).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(/Stored \d+ points? of \d+\.\nheadwater: Interrupted\.\n$/),
    });
  });

  it.each([
    [['--sources', '0'], 2, '--sources "0": give a whole number from 1 to 10000.'],
    [['--every', '1'], 2, '--every "1": give a whole number above 0 and one of ms, s'],
    [['--for', 'ever'], 2, '--for "ever"'],
    [['--scenario', scenarioFile({ metrics: { a: { mean: 'high' } } })], 1, 'is not a scenario'],
    [['--scenario', '/nowhere.json'], 1, '/nowhere.json is not a scenario'],
    [['--api-key', 'hw_wrong'], 1, 'answered 401'],
    [['--url', 'http://127.0.0.1:9'], 1, 'No answer from'],
  ])('%j is wrong', async (args, expected, said) => {
    const { code, stderr } = await simulate(...args);
    expect([code, stderr]).toEqual([expected, expect.stringContaining(said)]);
  });
});
