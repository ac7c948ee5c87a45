import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { entry, type GroupsReport } from '#log';
import type { Source } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { eventually } from '#testing';
import { sources } from '#topics';
import { newFolder, run } from './test-run.js';
import { root, serve, stop } from './test-serve.js';

const data = newFolder();
const store = join(data, 'store.db');

beforeAll(async () => {
  const { child, url, apiKey } = await serve(data);
  const series = join(root, 'libs/testing/data/nab/speed_6005.csv');
  await run(['import', series, '--source', 'car', '--metric', 'speed'], { env: { HEADWATER_URL: url, HEADWATER_API_KEY: apiKey! } });
  for (const command of ['verify', 'rebuild', 'topics', 'replay --group sources --from beginning']) {
    expect(await run([...command.split(' '), '--data', data])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('is in use'),
    });
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

describe('the groups of a stopped server', () => {
  const replay = (...args: readonly string[]): ReturnType<typeof run> => run(['replay', '--data', data, ...args]);

  it('are shown with the topics', async () => {
    const { code, stdout } = await run(['topics', '--data', data, '--json']);
    const { topics, groups } = JSON.parse(stdout) as GroupsReport;
    expect([code, new Set(groups.map(({ group }) => group)), groups.every(({ lag }) => lag === 0)]).toEqual([
      0,
      new Set(['decisions', 'keys', 'monitors', 'series', 'sources']),
      true,
    ]);
    expect(topics).toContainEqual({ topic: sources.name, partitions: sources.partitions, cleanup: 'compact', records: 1 });
  });

  it.each([
    ['series', 'would drop them: `headwater rebuild --data` makes the store anew'],
    ['nobody', 'There is no group nobody: there are '],
  ])('replay refuses %s', async (group, sentence) => {
    expect(await replay('--group', group, '--from', 'beginning')).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
  });

  it('verify names the replay that mends the list of sources, and it does', async () => {
    const storage = await openStorage(data);
    const { orgId } = await onlySource(storage);
    const wrong = { orgId, firstReceivedMs: 1, lastReceivedMs: 2e12 };
    await storage.log.append([entry(sources, { ...wrong, sourceId: 'car' }), entry(sources, { ...wrong, sourceId: 'nobody' })]);
    await storage.close();
    const command = `headwater replay --data ${data} --group sources --from beginning`;
    const { code, stderr } = await run(['verify', '--data', data]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/2 differences: `headwater replay /)]);
    expect(stderr).toContain(command);
    expect(await replay('--group', 'sources', '--from', 'beginning')).toMatchObject({ code: 0 });
    const { child, url } = await serve(data);
    await eventually(async () => expect((await fetch(`${url}/health/ready`)).status).toBe(200));
    await stop(child, 'SIGTERM');
    expect(await run(['verify', '--data', data])).toMatchObject({ code: 0, stdout: '' });
    const mended = await openStorage(data);
    expect(await onlySource(mended)).toMatchObject({ orgId, sourceId: 'car' });
    await mended.close();
  });
});

async function onlySource({ views }: Storage): Promise<Source> {
  const view = views.open(sources);
  await view.ready;
  const [[, source], ...others] = [...view.scan('')] as [readonly [string, Source]];
  expect(others).toEqual([]);
  return source;
}

it('a backup is restored, and nothing differs', async () => {
  const [backup, restored] = [join(newFolder(), 'backup.tar'), join(newFolder(), 'data')];
  const made = await run(['backup', backup, '--data', data, '--json']);
  expect([made.code, JSON.parse(made.stdout), made.stderr]).toEqual([
    0,
    { head: expect.any(Number), files: 6, bytes_written: expect.any(Number) },
    expect.stringMatching(/^Copied [\d.]+ MB; the backup has 6 files and the log up to offset \d+\.\n$/),
  ]);
  expect(await run(['restore', backup, '--data', restored])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Restored 6 files of 20/),
  });
  expect(await run(['verify', '--data', restored])).toMatchObject({ code: 0, stdout: '' });
  const again = await run(['restore', backup, '--data', restored]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/^headwater: .* is not empty, it has FORMAT in it/) });
});

it('verify repairs no data folder', async () => {
  const { code, stderr } = await run(['verify', '--repair', '--data', data]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`\`headwater rebuild --data ${data}\``)]);
});

it('verify warns when nobody can vouch for the end of the log', async () => {
  writeFileSync(join(data, 'log', 'head'), 'rubbish');
  const { code, stderr } = await run(['verify', '--data', data]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('log/head is missing or damaged: ')]);
});

it('a damaged log is said to be so', async () => {
  const log = join(data, 'log', '0000000000000000.journal');
  const bytes = readFileSync(log);
  bytes.fill(0x5a, 0, 4096);
  writeFileSync(log, bytes);
  const { code, stdout, stderr } = await run(['rebuild', '--data', data]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^headwater: The log is damaged: .*\. Restore the data folder from a copy\.\n$/);
});

it.each(['backup never.tar', 'verify', 'rebuild', 'topics', 'replay --group sources --from beginning'])(
  '%s makes no data folder',
  async (command) => {
    const { code, stderr } = await run([...command.split(' '), '--data', '/nowhere']);
    expect([code, stderr]).toEqual([1, 'headwater: /nowhere is not a data folder of a server: name the one that HEADWATER_DATA names.\n']);
  },
);
