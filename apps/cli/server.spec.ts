import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing';
import { newFolder, run } from './test-run.js';
import { bin, root, serve, stop } from './test-serve.js';

const data = newFolder();

it('npm links a file that is there and can be run before anything is built', () => {
  accessSync(bin, constants.X_OK);
  expect(bin).not.toContain('/dist/');
  expect(readFileSync(bin, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});

describe('a server that the command started', () => {
  let server: Awaited<ReturnType<typeof serve>>;
  let env: Record<string, string>;

  beforeAll(async () => {
    server = await serve(data);
    env = { HEADWATER_URL: server.url, HEADWATER_API_KEY: server.apiKey! };
  });

  it('gives out keys, lists them and ends them', async () => {
    const created = await run(['keys', 'create', '--name', 'pump', '--json'], { env });
    const { id, api_key: apiKey } = JSON.parse(created.stdout) as { id: string; api_key: string };
    expect((await run(['keys', 'list'], { env })).stdout).toMatch(new RegExp(`^${id} .* read,write .* pump$`, 'm'));
    const asPump = { env: { ...env, HEADWATER_API_KEY: apiKey } };
    expect(await run(['keys', 'list'], asPump)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('answered 403') });
    expect(await run(['keys', 'delete', id], { env })).toMatchObject({ code: 0, stderr: `Deleted ${id}.\n` });
    expect(await run(['keys', 'list'], asPump)).toMatchObject({ code: 1, stderr: expect.stringContaining('answered 401') });
    expect(await run(['keys', 'delete', id], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining('answered 404') });
  });

  it('is known to init', async () => {
    const stored = { XDG_CONFIG_HOME: newFolder() };
    const { code, stderr } = await run(['init', '--url', server.url], { env: stored, stdin: server.apiKey! });
    expect([code, stderr]).toEqual([0, expect.stringContaining('scopes: read, write, admin')]);
    expect((await run(['keys', 'list'], { env: stored })).code).toBe(0);
  });

  it('gives back what was imported, and takes back what it gave', async () => {
    const series = join(root, 'libs/testing/data/nab/machine_temperature_system_failure.csv');
    const imported = await run(['import', series, '--source', 'press-7', '--metric', 'machine.temperature', '--json'], { env });
    expect([imported.code, imported.stdout]).toEqual([0, '{"source_id":"press-7","points":22695}\n']);

    const rows = readFileSync(series, 'utf8').trim().split(/\r?\n/).slice(1);
    const values = new Map(rows.map((row) => [`${row.slice(0, 10)}T${row.slice(11, 19)}.000Z`, String(Number(row.slice(20)))]));
    const lines = [...values].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([time, value]) => `${time},${value}\n`);
    const exported = await run(['export', '--source', 'press-7'], { env });
    expect(exported.stdout).toBe(`timestamp,machine.temperature\n${lines.join('')}`);

    await run(['import', '-', '--source', 'copy'], { env, stdin: exported.stdout });
    expect((await run(['export', '--source', 'copy'], { env })).stdout).toBe(exported.stdout);
    await run(['import', series, '--source', 'press-7', '--metric', 'machine.temperature'], { env });
    expect((await run(['export', '--source', 'press-7'], { env })).stdout).toBe(exported.stdout);
  });

  it('forgets what a device has sent, and what it sends later is new', async () => {
    const sent = 'timestamp,a,b\n2026-01-31T06:00:00.000Z,1,2\n';
    const sources = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${server.url}/v1/sources`, { headers: { 'x-api-key': server.apiKey! } });
      return ((await answer.json()) as { devices: { source_id: string }[] }).devices.map(({ source_id: id }) => id);
    };
    const exported = async (): Promise<string> => (await run(['export', '--source', 'typo'], { env })).stdout;
    await run(['import', '-', '--source', 'typo'], { env, stdin: sent });
    const said = await run(['sources', 'delete', 'typo'], { env });
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining('This would delete typo, with 2 metrics')]);
    const parent = await run(['sources', 'delete', 'typo', '--metric', '..', '--yes'], { env });
    expect([parent.code, parent.stderr]).toEqual([2, expect.stringContaining('".." cannot be deleted by its name.')]);
    expect(await run(['sources', 'delete', 'typo', '--metric', 'a', '--yes'], { env })).toMatchObject({ code: 0 });
    await eventually(async () => expect(await exported()).toBe('timestamp,b\n2026-01-31T06:00:00.000Z,2\n'));
    expect(await run(['sources', 'delete', 'typo', '--yes'], { env })).toMatchObject({ code: 0, stderr: 'Deleted typo.\n' });
    await eventually(async () => expect(await sources()).not.toContain('typo'));
    await eventually(async () => expect(await run(['export', '--source', 'typo'], { env })).toMatchObject({ stdout: '' }));
    expect(await run(['sources', 'delete', 'typo', '--yes'], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining('404') });
    await run(['import', '-', '--source', 'typo'], { env, stdin: sent });
    await eventually(async () => expect([await exported(), await sources()]).toEqual([sent, expect.arrayContaining(['typo'])]));
    const told = await fetch(`${server.url}/api/audit?limit=3`, { headers: { 'x-api-key': server.apiKey! } });
    // Earlier versions would have the device back.
    expect(readFileSync(join(data, 'FORMAT'), 'utf8')).toBe('headwater 4\n');
    expect(await told.text()).toMatch(/source\.deleted.*metric\.deleted/s);
  });

  it('gives two metrics with times of the last century, point for point', async () => {
    const csv = 'timestamp,a,"b, ""c"""\n1970-01-01T00:00:00.001Z,1,\n1999-12-31T23:59:59.999Z,,-0.5\n2001-09-09T01:46:40.000Z,1e+21,2\n';
    await run(['import', '-', '--source', 'old'], { env, stdin: csv });
    expect((await run(['export', '--source', 'old'], { env })).stdout).toBe(csv);
  });

  it('keeps its data folder to itself', async () => {
    const { code, stdout, stderr } = await run(['keys', 'create', '--data', data]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('is in use: stop the server');
  });

  it('lets its last key with the scope admin go, stops at SIGTERM, and then its folder gives another that the next start knows', async () => {
    await run(['keys', 'create', '--name', 'left'], { env });
    const first = /^(\S+) .* read,write,admin .*$/m.exec((await run(['keys', 'list'], { env })).stdout)![1]!;
    expect(await run(['keys', 'delete', first], { env })).toMatchObject({ code: 0 });
    expect(await run(['keys', 'list'], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining('answered 401') });
    expect(await stop(server.child, 'SIGTERM')).toBe(0);
    const { code, stdout } = await run(['keys', 'create', '--data', data, '--scopes', 'admin']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^hw_\w{38}\n$/)]);
    server = await serve(data);
    expect(server.apiKey).toBeUndefined();
    const list = await run(['keys', 'list', '--json'], { env: { HEADWATER_URL: server.url, HEADWATER_API_KEY: stdout.trim() } });
    expect((JSON.parse(list.stdout) as { scopes: string[] }[]).map(({ scopes }) => scopes)).toEqual([['read', 'write'], ['admin']]);
    expect(await stop(server.child, 'SIGINT')).toBe(0);
  });
});

it('a folder without data is not made into one', async () => {
  const { code, stderr } = await run(['keys', 'create', '--data', '/nowhere']);
  expect([code, stderr]).toEqual([1, 'headwater: /nowhere is not a data folder of a server: name the one that HEADWATER_DATA names.\n']);
});
