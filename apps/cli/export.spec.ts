import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { parseMetricsList } from '#model';
import { main, run, withoutProgress } from './test-run.js';
import { type Answer, type Seen, TestServer } from './test-server.js';

type Points = Readonly<Record<string, Iterable<readonly [timestampMs: number, value: number]>>>;

/** Answers metric names and raw queries over `points`, at most `cap` rows an answer. */
function reading(points: Points, cap: number): (seen: Seen) => Answer {
  return ({ path }) => {
    const { pathname, searchParams } = new URL(path, 'http://x');
    if (pathname === '/v1/sources/s/metrics') return { status: 200, json: Object.keys(points) };
    if (pathname !== '/v1/sources/s/metrics/query') return { status: 200, json: [] };
    const [start, end] = ['start', 'end'].map((name) => Date.parse(searchParams.get(name)!)) as [number, number];
    const chosen = parseMetricsList(searchParams.getAll('metrics')) ?? Object.keys(points);
    const all = chosen.flatMap((metric) => Array.from(points[metric] ?? [], ([timestampMs, value]) => ({ metric, timestampMs, value })));
    const rows = all.filter(({ timestampMs }) => timestampMs >= start && timestampMs < end);
    rows.sort((a, b) => a.timestampMs - b.timestampMs || (a.metric < b.metric ? -1 : 1));
    const series: Record<string, { timestamp_ms: number[]; value: number[] }> = {};
    for (const { metric, timestampMs, value } of rows.slice(0, cap)) {
      series[metric] ??= { timestamp_ms: [], value: [] };
      series[metric].timestamp_ms.push(timestampMs);
      series[metric].value.push(value);
    }
    return { status: 200, json: { interval: 'raw', auto_downsampled: false, series, truncated: rows.length > cap } };
  };
}

const t0 = Date.parse('2026-01-31T06:00:00Z');
const line = (timestampMs: number, ...cells: readonly (number | string)[]): string =>
  `${new Date(timestampMs).toISOString()},${cells.join(',')}\n`;
const env = (server: TestServer) => ({ HEADWATER_URL: server.url, HEADWATER_API_KEY: 'hw_test' });

describe('export', () => {
  const points: Points = {
    'a,b': new Map([
      [t0, 1],
      [t0 + 1000, 2.5],
      [t0 + 2000, 3],
    ]),
    ü: new Map([
      [t0 + 1000, -1e-7],
      [t0 + 3000, 1e21],
    ]),
  };

  it.each([
    [
      'all of it',
      [],
      `timestamp,"a,b",ü\n${line(t0, 1, '')}${line(t0 + 1000, 2.5, -1e-7)}${line(t0 + 2000, 3, '')}${line(t0 + 3000, '', 1e21)}`,
    ],
    ['one metric', ['--metric', 'a,b'], `timestamp,"a,b"\n${line(t0, 1)}${line(t0 + 1000, 2.5)}${line(t0 + 2000, 3)}`],
    [
      'metrics in the order asked for',
      ['--metric', 'ü', '--metric', 'a,b', '--end', '2026-01-31T06:00:01'],
      `timestamp,ü,"a,b"\n${line(t0, '', 1)}`,
    ],
    ['a window', ['--start', '2026-01-31T06:00:03Z'], `timestamp,"a,b",ü\n${line(t0 + 3000, '', 1e21)}`],
    ['an empty window', ['--last', '1m'], 'timestamp,"a,b",ü\n'],
    [
      'a metric that no list can hold',
      ['--metric', 'ü', '--metric', ' '],
      `timestamp,ü," "\n${line(t0 + 1000, -1e-7, '')}${line(t0 + 3000, 1e21, '')}`,
    ],
    ['a metric that is not there', ['--metric', 'none'], 'timestamp,none\n'],
  ])('writes %s, whatever the cap of an answer', async (_, flags, expected) => {
    for (const cap of [3, 4, 5]) {
      await using server = await TestServer.start(reading(points, cap));
      const { code, stdout, stderr } = await run(['export', '--source', 's', ...flags], { env: env(server) });
      expect({ cap, code, stdout }).toEqual({ cap, code: 0, stdout: expected });
      expect(stderr).toMatch(/^Wrote \d rows?\.\n$/);
    }
  });

  it('writes each point of one metric and time on a line of its own, and says what import would make of them', async () => {
    const readings = {
      cpu: [
        [t0, 1],
        [t0, 2],
        [t0 + 1, 3],
        [t0 + 1, 4],
        [t0 + 1, 5],
      ],
      rpm: [
        [t0, 7],
        [t0 + 2, 8],
      ],
    } as const;
    for (const cap of [6, 7, 100]) {
      await using server = await TestServer.start(reading(readings, cap));
      const { code, stdout, stderr } = await run(['export', '--source', 's'], { env: env(server) });
      const cores = `${line(t0, 1, 7)}${line(t0, 2, '')}${line(t0 + 1, 3, '')}${line(t0 + 1, 4, '')}${line(t0 + 1, 5, '')}`;
      expect({ cap, code, stdout }).toEqual({ cap, code: 0, stdout: `timestamp,cpu,rpm\n${cores}${line(t0 + 2, '', 8)}` });
      expect(stderr).toMatch(
        /^Wrote 6 rows\.\n3 rows of them repeat the time of another: their points differ in tags.*import.*keep the last/,
      );
    }
  });

  it('writes buckets as four columns', async () => {
    const buckets = { timestamp_ms: [t0], min: [1], max: [3], avg: [2], count: [4] };
    await using server = await TestServer.start(() => ({ status: 200, json: { series: { rpm: buckets }, truncated: false } }));
    const { stdout } = await run(['export', '--source', 's', '--metric', 'rpm', '--interval', '1h'], { env: env(server) });
    expect(stdout).toBe(`timestamp,rpm.min,rpm.max,rpm.avg,rpm.count\n${line(t0, 1, 3, 2, 4)}`);
    expect(server.seen[0]!.path).toContain('interval=1h');
  });

  it.each([
    ['an unknown source', ['--source', 'x'], 1, 'has sent no metric'],
    ['an unknown interval', ['--source', 's', '--interval', '5m'], 2, 'headwater: --interval "5m": Use one of raw, 1m, 10m, 1h, 1d.\n'],
    ['a bad length', ['--source', 's', '--last', '5w'], 2, '--last "5w": '],
    [
      'a bad source',
      ['--source', 'a b'],
      2,
      '--source "a b": Use a source id of 1 to 256 of A-Z a-z 0-9 . _ : @ + - that begins with a letter or digit.\n',
    ],
    ['a bad metric', ['--source', 's', '--metric', ''], 2, '--metric "": '],
    ['a bad time', ['--source', 's', '--start', 'monday'], 2, 'ISO 8601'],
    ['an empty span', ['--source', 's', '--start', '2026-01-02', '--end', '2026-01-01'], 2, 'Let start be before end.'],
    ['too many series at one time', ['--source', 's'], 1, 'choose fewer metrics with --metric'],
  ])('refuses %s', async (_, flags, exitCode, said) => {
    const crowd = Object.fromEntries(['a', 'b', 'c'].map((metric) => [metric, new Map([[t0, 1]])]));
    await using server = await TestServer.start(reading(crowd, 2));
    const { code, stderr } = await run(['export', ...flags], { env: env(server) });
    expect(code).toBe(exitCode);
    expect(stderr).toContain(said);
  });

  it('goes on when the server is busy or away for a moment', async () => {
    const answer = reading(points, 3);
    const faults: Readonly<Record<number, Answer>> = { 1: { status: 503, headers: { 'retry-after': '0' } }, 3: { status: 0, cut: true } };
    await using server = await TestServer.start((seen, before) => faults[before] ?? answer(seen));
    const { code, stdout, stderr } = await run(['export', '--source', 's'], { env: env(server) });
    expect([code, stdout.split('\n').length]).toEqual([0, 6]);
    expect(stderr).toContain('Trying again in');
  });

  it('ends in silence when its reader has gone', async () => {
    const many = { a: new Map(Array.from({ length: 50_000 }, (_, index) => [t0 + index, index] as const)) };
    await using server = await TestServer.start(reading(many, 10_000));
    const child = spawn(process.execPath, [main, 'export', '--source', 's'], { env: { ...process.env, ...env(server) } });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await once(child, 'close')).toEqual([141, null]);
    expect(withoutProgress(stderr)).toBe('');
  });
});
