import { expect, it } from '@jest/globals';
import { openStorage } from '#sqlite';
import { newFolder, run } from './test-run.js';
import { serve, stop } from './test-serve.js';

interface Made {
  readonly id: string;
  readonly api_key: string;
}

it('organizations are made, changed and listed on the folder of a stopped server, which goes by their limits', async () => {
  const data = newFolder();
  await (await openStorage(data)).close();
  const org = (...args: readonly string[]): ReturnType<typeof run> => run(['org', ...args, '--data', data]);
  const made = async (...args: readonly string[]): Promise<Made> => JSON.parse((await org('create', '--json', ...args)).stdout) as Made;
  const few = await made('--name', 'Plant 7', '--payment', 'yes', '--limit', 'series=2', '--limit', 'points_per_s=5');
  expect(few).toMatchObject({ name: 'Plant 7', payment_method_on_file: true, limits: { series: 2, points_per_s: 5 } });
  const slow = await made('--name', 'Slow', '--payment', 'yes', '--limit', 'points_per_s=1');
  const changed = await org('set', few.id, '--limit', 'points_per_s=none', '--name', 'Plant 8');
  expect(changed).toEqual({ code: 0, stdout: '', stderr: `Changed the organization ${few.id}.\n` });
  const unpaid = await made('--name', 'Unpaid');
  const second = await run(['keys', 'create', '--data', data, '--org', unpaid.id]);
  const { stdout } = await org('list');
  const unknown = await org('set', 'org_x', '--payment', 'no');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no organization org_x') });
  expect(stdout).toMatch(/^ID +PAYS +CREATED +LIMITS +NAME\n/);
  expect(stdout).toMatch(/ yes .* series=2 +Plant 8\n/);
  expect(stdout).toMatch(/ yes .* points_per_s=1 +Slow\n/);
  expect(stdout).toMatch(/ no .* - +Unpaid\n/);

  const { child, url } = await serve(data);
  const send = async (key: string, ...metrics: readonly string[]): Promise<{ status: number; code?: string; waitS: number }> => {
    const body = JSON.stringify({ source_id: 's', points: metrics.map((metric) => ({ metric, value: 1 })) });
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/ingest`, { method: 'POST', headers, body });
    const { code } = (await answer.json()) as { code?: string };
    return { status: answer.status, ...(code && { code }), waitS: Number(answer.headers.get('retry-after')) };
  };
  expect(await send(slow.api_key, ...Array.from({ length: 700 }, (_, at) => `m-${at}`))).toMatchObject({ status: 200 });
  const over = await send(slow.api_key, 'm');
  expect(over).toMatchObject({ status: 429, code: 'over_rate' });
  expect(over.waitS).toBeGreaterThan(600);
  expect(over.waitS).toBeLessThanOrEqual(690);
  expect(await send(few.api_key, 'a', 'b')).toMatchObject({ status: 200 });
  expect(await send(few.api_key, 'a', 'c')).toMatchObject({ status: 429, code: 'too_many_series' });
  expect(await send(few.api_key, 'b', 'a')).toMatchObject({ status: 200 });
  expect(await send(unpaid.api_key, 'a')).toMatchObject({ status: 402, code: 'payment_required' });
  expect(await send(second.stdout.trim(), 'a')).toMatchObject({ status: 402, code: 'payment_required' });
  await stop(child, 'SIGTERM');
});
