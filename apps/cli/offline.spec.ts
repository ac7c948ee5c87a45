import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newFolder, run } from './test-run.js';
import { root, serve, stop } from './test-serve.js';

const data = newFolder();
const store = join(data, 'store.db');

beforeAll(async () => {
  const { child, url, apiKey } = await serve(data);
  const series = join(root, 'libs/testing/data/nab/speed_6005.csv');
  await run(['import', series, '--source', 'car', '--metric', 'speed'], { env: { HEADWATER_URL: url, HEADWATER_API_KEY: apiKey! } });
  for (const command of ['verify', 'rebuild']) {
    expect(await run([command, '--data', data])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is in use') });
  }
  await stop(child, 'SIGTERM');
});

describe('on the folder of a stopped server', () => {
  it('verify finds nothing that differs', async () => {
    const { code, stdout, stderr } = await run(['verify', '--data', data]);
    expect([code, stdout, stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/^Compared [\d,]+ rows of 1 series and 0 events of 1 source\.\n$/),
    ]);
  });

  it('rebuild goes through the log', async () => {
    const { code, stdout, stderr } = await run(['rebuild', '--data', data, '--json']);
    expect([code, JSON.parse(stdout), stderr]).toEqual([
      0,
      { records: expect.any(Number), unreadable: 0 },
      expect.stringMatching(/^Rebuilt the projections from \d+ records?\.\n$/),
    ]);
    expect((await run(['verify', '--data', data])).code).toBe(0);
  });

  it('verify names damage with exit code 1, and rebuild mends it', async () => {
    const bytes = readFileSync(store);
    bytes.fill(0x5a, bytes.length / 2, bytes.length / 2 + 4096);
    writeFileSync(store, bytes);
    const { code, stdout, stderr } = await run(['verify', '--data', data, '--json']);
    const found = JSON.parse(stdout) as { differences: number; first: { what: string }[] };
    expect([code, found.differences > 0, found.first[0]?.what]).toEqual([1, true, expect.any(String)]);
    expect(stderr).toContain(`\`headwater rebuild --data ${data}\``);
    expect((await run(['verify', '--data', data])).stdout).toMatch(/^damage: .+\n/);
    expect((await run(['rebuild', '--data', data])).code).toBe(0);
    expect((await run(['verify', '--data', data])).code).toBe(0);
  });
});

it('verify repairs no data folder', async () => {
  const { code, stderr } = await run(['verify', '--repair', '--data', data]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`\`headwater rebuild --data ${data}\``)]);
});

it('verify warns when nobody can vouch for the end of the log', async () => {
  writeFileSync(join(data, 'log.head'), 'rubbish');
  const { code, stderr } = await run(['verify', '--data', data]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('log.head is missing or damaged: ')]);
});

it('a damaged log is said to be so', async () => {
  const log = join(data, 'log.db');
  const bytes = readFileSync(log);
  bytes.fill(0x5a, 0, 4096);
  writeFileSync(log, bytes);
  const { code, stdout, stderr } = await run(['rebuild', '--data', data]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^headwater: log\.db .*\. Restore the data folder from a copy\.\n$/);
});

it.each(['verify', 'rebuild'])('%s makes no data folder', async (command) => {
  const { code, stderr } = await run([command, '--data', '/nowhere']);
  expect([code, stderr]).toEqual([1, 'headwater: /nowhere is not a data folder of a server: name the one that HEADWATER_DATA names.\n']);
});
