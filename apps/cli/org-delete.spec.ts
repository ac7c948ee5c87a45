import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openStorage } from '#sqlite';
import { eventually } from '#testing';
import { topics } from '#topics';
import { newFolder, run } from './test-run.js';
import { serve, stop } from './test-serve.js';

interface Made {
  readonly id: string;
  readonly api_key: string;
}

/** Resolves when the server says that an organization has nothing any more. */
const removed = (child: ChildProcess, orgId: string): Promise<void> =>
  new Promise((resolve) => {
    let log = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes(`all that the organization ${orgId} had is removed`)) resolve();
    });
  });

it('an organization is exported and deleted, by a running server and on the folder of a stopped one, and others keep everything', async () => {
  const data = newFolder();
  const { child: begun, apiKey: operator } = await serve(data);
  await stop(begun, 'SIGTERM');
  const made = async (name: string): Promise<Made> =>
    JSON.parse((await run(['org', 'create', '--data', data, '--json', '--payment', 'yes', '--name', name])).stdout) as Made;
  const [first, second, other] = [await made('First'), await made('Second'), await made('Other')];

  const { child, url } = await serve(data);
  const ask = async (
    key: string,
    path: string,
    body?: object,
    method = body ? 'POST' : 'GET',
  ): Promise<{ status: number; text: string }> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: answer.status, text: await answer.text() };
  };
  const timestamp = Date.parse('2026-01-31T06:00:00.000Z');
  const heat = { metric: 'heat', timestamp, value: 1, tags: { line: '7' } };
  const door = { class: 'event', metric: 'door', timestamp, value: 'open', tags: {} };
  for (const { api_key: key } of [first, second, other]) {
    expect(await ask(key, '/ingest', { source_id: 's', points: [heat, door] })).toMatchObject({ status: 200 });
    expect(await ask(key, '/api/monitors', { source_id: '*', metric: 'heat', threshold: { max: 0 } })).toMatchObject({ status: 201 });
    await eventually(async () => expect((await ask(key, '/v1/sources/s/logs?tail=9')).text).toContain('door'));
    await eventually(async () => expect((await ask(key, '/v1/sources/s/metrics')).text).toBe('["heat"]'));
  }
  const file = join(newFolder(), 'all.ndjson');
  const exporting = ['org', 'delete', first.id, '--export', file, '--url', url, '--yes'];
  expect(await run([...exporting, '--data', data])).toMatchObject({ code: 2, stderr: expect.stringContaining('leave out --export') });
  const exported = await run(['export', '--all', '--url', url, '--api-key', first.api_key]);
  expect(exported.stderr).toMatch(/^Wrote [23] entries of 1 source\.\n$/);
  expect(exported.stdout.split('\n')).toContain(JSON.stringify({ source_id: 's', points: [heat] }));
  expect(exported.stdout).toContain(JSON.stringify(door));

  expect((await ask(first.api_key, `/api/organizations/${first.id}`, undefined, 'DELETE')).status).toBe(403);
  expect((await ask(operator!, '/api/organizations/org_nobody', undefined, 'DELETE')).status).toBe(404);
  expect((await ask(operator!, '/api/organizations/org_0000000000000001', undefined, 'DELETE')).text).toContain('operator_organization');
  const isRemoved = removed(child, first.id);
  expect((await ask(operator!, `/api/organizations/${first.id}`, undefined, 'DELETE')).status).toBe(204);
  await eventually(async () => expect((await ask(first.api_key, '/v1/sources')).status).toBe(401));
  expect((await ask(operator!, `/api/organizations/${first.id}`, undefined, 'DELETE')).status).toBe(404);
  expect((await ask(operator!, '/api/organizations')).text).not.toContain(first.id);
  await isRemoved;
  await stop(child, 'SIGTERM');

  const deleting = ['org', 'delete', second.id, '--data', data];
  expect(await run(deleting)).toMatchObject({ code: 1, stderr: expect.stringContaining('(Second)') });
  expect(await run([...deleting, '--yes'])).toEqual({ code: 0, stdout: '', stderr: `Deleted the organization ${second.id}.\n` });
  expect((await run([...deleting, '--yes'])).code).toBe(1);
  const again = await serve(data);
  await removed(again.child, second.id);
  await stop(again.child, 'SIGTERM');

  const storage = await openStorage(data);
  for (const [{ id }, has] of [
    [first, []],
    [second, []],
    [other, ['heat']],
  ] as const) {
    expect([id, await storage.series.metricNames(id, 's')]).toEqual([id, has]);
    const events = await storage.events.tail(id, 's', 9);
    expect([id, events.some(({ metric }) => metric === 'door')]).toEqual([id, has.length > 0]);
  }
  const left: string[] = [];
  for (const topic of topics.filter(({ cleanup }) => cleanup === 'compact')) {
    const view = storage.views.open(topic);
    await view.ready;
    for (const [, value] of view.scan(''))
      if ([first.id, second.id].includes((value as { orgId?: string }).orgId ?? '')) left.push(topic.name);
  }
  expect([...new Set(left)].toSorted()).toEqual(['audit.v1', 'decisions.v1', 'key-decisions.v1', 'organizations.v1', 'outcomes.v1']);
  await storage.close();
  expect((await run(['verify', '--data', data])).code).toBe(0);
});
