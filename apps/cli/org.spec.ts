import { expect, it } from '@jest/globals';
import { openStorage } from '#sqlite';
import { eventually } from '#testing';
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

const dayMs = 86_400_000;
const daysAgo = [400, 40, 10, 4, 1];

it('an organization is shown, of each resolution and of its events, what it is to have, and another one everything', async () => {
  const data = newFolder();
  await (await openStorage(data)).close();
  const made = async (...args: readonly string[]): Promise<Made> =>
    JSON.parse((await run(['org', 'create', '--data', data, '--json', '--payment', 'yes', ...args])).stdout) as Made;
  const bounds = ['keep_points_hours=48', 'keep_1m_hours=120', 'keep_1h_hours=480', 'keep_1d_hours=2400', 'keep_events_hours=72'];
  const bound = await made('--name', 'Bound', ...bounds.flatMap((one) => ['--limit', one]));
  const free = await made('--name', 'Free');
  const refused = await run(['org', 'set', free.id, '--data', data, '--limit', 'keep_events_hours=23']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('keep_events_hours must be at least 24.') });

  const { child, url } = await serve(data);
  const nowMs = Date.now();
  const ask = async <T>(key: string, path: string, body?: object): Promise<T> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as T;
  };
  const ago = (times: readonly number[]): number[] => times.map((ms) => Math.round((nowMs - ms) / dayMs));
  const points = daysAgo
    .map((days) => nowMs - days * dayMs)
    .flatMap((timestamp) => [
      { metric: 'm', timestamp, value: 1 },
      { metric: 'door', timestamp, value: 'open', class: 'event' },
    ]);
  const window = `start=${new Date(nowMs - 1000 * dayMs).toISOString()}&end=${new Date(nowMs).toISOString()}`;
  const past = `start=${new Date(nowMs - 1000 * dayMs).toISOString()}&end=${new Date(nowMs - 300 * dayMs).toISOString()}`;
  type Columns = { readonly timestamp_ms: readonly number[]; readonly count: readonly number[] };
  const shown = async (key: string): Promise<Readonly<Record<string, unknown>>> => {
    const found: Record<string, unknown> = {};
    for (const interval of ['raw', '1m', '10m', '1h']) {
      const { series } = await ask<{ series: Record<string, Columns> }>(key, `/v1/sources/s/metrics/query?interval=${interval}&${window}`);
      found[interval] = ago(series['m']?.timestamp_ms ?? []);
    }
    const whole = await ask<{ series: Record<string, Columns> }>(key, `/v1/sources/s/metrics/query?interval=1d&${window}`);
    found['1d'] = whole.series['m']?.count.length;
    const fleet = await ask<{ sources: readonly Columns[] }>(key, `/v1/fleet/metrics?metric=m&${window}`);
    found['fleet'] = fleet.sources[0]?.count.length;
    const old = await ask<{ series: Record<string, Columns> }>(key, `/v1/sources/s/metrics/query?interval=1d&${past}`);
    found['old'] = Object.keys(old.series).length;
    for (const which of [window, 'tail=10']) {
      const entries = await ask<readonly { timestamp_ms: number }[]>(key, `/v1/sources/s/logs?${which}`);
      found[which === window ? 'logs' : 'tail'] = ago(entries.map(({ timestamp_ms: ms }) => ms));
    }
    return found;
  };
  const shows = (key: string, expected: object): Promise<void> => eventually(async () => expect(await shown(key)).toEqual(expected));
  for (const { api_key: key } of [bound, free]) await ask(key, '/ingest', { source_id: 's', points });
  await shows(bound.api_key, {
    raw: [1],
    '1m': [4, 1],
    '10m': [4, 1],
    '1h': [10, 4, 1],
    '1d': 4,
    fleet: 4,
    old: 0,
    logs: [1],
    tail: [1],
  });
  await shows(free.api_key, {
    raw: daysAgo,
    '1m': daysAgo,
    '10m': daysAgo,
    '1h': daysAgo,
    '1d': 5,
    fleet: 5,
    old: 1,
    logs: daysAgo,
    tail: daysAgo,
  });
  await stop(child, 'SIGTERM');
});
