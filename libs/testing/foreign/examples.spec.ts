import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Headwater, type Source } from '#client';
import { itIf } from '../api/stage.js';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { eventually } from '../eventually.js';
import { send } from '../http/send.js';
import { Link } from '../link.js';
import { until } from '../until.js';
import { chromium, Page } from './chromium.js';
import { Example } from './example.js';
import { hasPython, interpreter } from './python.js';

interface Point {
  readonly metric: string;
  readonly value: number;
  readonly timestamp: number;
}

let deployment: EmbeddedDeployment;
/** A way to the server that can be cut. */
let link: Link;
let headwater: Headwater;
let environment: Readonly<Record<string, string>>;
const running: Example[] = [];

beforeAll(async () => {
  // The examples import the library as its package has it.
  const built = promisify(execFile)(process.execPath, ['node_modules/typescript/bin/tsc', '--project', 'libs/client']);
  [deployment] = await Promise.all([EmbeddedDeployment.start(), built]);
  link = await Link.to(() => Number(new URL(deployment.urls.api).port));
  const apiKey = deployment.keys.own;
  headwater = new Headwater({ url: deployment.urls.api, apiKey });
  environment = { HEADWATER_URL: `http://127.0.0.1:${link.port}`, HEADWATER_API_KEY: apiKey };
});
afterAll(async () => {
  await Promise.all(running.map((example) => example.stop()));
  link?.close();
  await deployment?.stop();
});

function start(name: string, options: readonly string[] = [], python?: string): Example {
  const example = new Example(name, options, environment, python);
  running.push(example);
  return example;
}

async function post(source: string, points: readonly Point[]): Promise<void> {
  for (let at = 0; at < points.length; at += 10_000) await headwater.ingest({ source_id: source, points: points.slice(at, at + 10_000) });
}

async function valuesOf(source: Source, metric: string): Promise<number[]> {
  const values: number[] = [];
  for await (const part of source.query({ last: '1h', metrics: [metric], interval: 'raw' })) values.push(...part.values);
  return values;
}

describe('pi.js', () => {
  it('measures as often as it is told, and ends when all of it is stored', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-pi-'));
    const pi = start('pi.js', ['--source', 'pi', '--folder', folder, '--seconds', '3600']);
    const source = headwater.source('pi');
    await until('the device is online', async () => (await source.get()).online);
    await expect(source.command('set-interval', { seconds: 0 }, { wait: true })).rejects.toThrow('Give seconds from 0.1 to 3600.');
    expect(await source.command('set-interval', { seconds: 0.1 }, { wait: true })).toMatchObject({ result: { seconds: 0.1 } });
    await until('a point is stored', async () => 'cpu.temperature' in (await source.latest()));

    expect([await pi.stop(), pi.stderr]).toEqual([0, '']);
    await deployment.settle();
    const values = await valuesOf(source, 'cpu.temperature');
    expect(pi.stdout).toBe(`${values.length + 1} stored, 0 left in ${folder}\n`);
    expect(values.filter((value) => value < 0 || value > 120)).toEqual([]);
    expect(await source.logs({ name: 'started' })).toMatchObject([{ value: JSON.stringify({ node: process.version }) }]);
  });
});

describe('month.js', () => {
  const startMs = Date.UTC(2026, 0, 1);
  const endMs = Date.UTC(2026, 1, 1);
  const dayMs = 86_400_000;
  /** Must be quoted in a line of CSV. */
  const metric = 'flow, "north"';
  const pump = 'pump';
  const points: readonly Point[] = [
    // More than one page, from just before the month to just behind it.
    ...Array.from({ length: 30_002 }, (_, n) => ({ metric, value: (n % 100) / 4, timestamp: startMs + (n - 1) * 89_280 })),
    { metric: pump, value: 1e21, timestamp: startMs },
    { metric: pump, value: -0.5, timestamp: endMs - 1 },
    { metric: pump, value: 7, timestamp: endMs },
  ];
  const ofMonth = points.filter(({ timestamp }) => timestamp >= startMs && timestamp < endMs);
  const of = (name: string): Point[] => ofMonth.filter((point) => point.metric === name);
  const iso = (ms: number): string => new Date(ms).toISOString();
  const quoted = (name: string): string => (name === pump ? pump : '"flow, ""north"""');
  const raw = ({ metric: name, value, timestamp }: Point): string => `${iso(timestamp)},${quoted(name)},${value}`;
  const days = (name: string): string[] =>
    [...Map.groupBy(of(name), ({ timestamp }) => Math.floor(timestamp / dayMs) * dayMs)].map(([ms, group]) => {
      const values = group.map(({ value }) => value);
      const sum = values.reduce((total, value) => total + value, 0);
      return `${iso(ms)},${quoted(name)},${Math.min(...values)},${Math.max(...values)},${sum / values.length},${values.length}`;
    });

  beforeAll(async () => {
    await post('month', points);
    await deployment.settle();
  });

  it.each([
    ['every point of one metric', ['--metric', metric, '--interval', 'raw'], ['time,metric,value', ...of(metric).map(raw)]],
    ['each day of all metrics', ['--interval', '1d'], ['time,metric,min,max,avg,count', ...days(metric), ...days(pump)]],
    ['two metrics by name', ['--metric', pump, '--metric', 'none', '--interval', 'raw'], ['time,metric,value', ...of(pump).map(raw)]],
  ])('writes %s', async (_, options, lines) => {
    const csv = await start('month.js', ['--source', 'month', '--from', '2026-01', ...options]).printed();
    expect(csv.split('\r\n')).toEqual([...lines, '']);
  });
});

/** What a person sees of the chart. */
interface Seen {
  readonly state: string;
  readonly newest: string;
  /** Of the line, in percent from the upper left corner. */
  readonly line: readonly (readonly [x: number, y: number])[];
}

const look = `() => {
  const text = (id) => document.getElementById(id).textContent;
  const line = [...document.getElementById('line').points].map(({ x, y }) => [x, y]);
  return { state: text('state'), newest: text('newest'), line };
}`;
const keepStates = `() => {
  const state = document.getElementById('state');
  window.states = [];
  new MutationObserver(() => window.states.push(state.textContent)).observe(state, { childList: true });
}`;
const fit = `() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const ground = getComputedStyle(document.body).backgroundColor;
  return { sticksOut: scrollWidth > clientWidth, width: document.querySelector('svg').clientWidth, ground };
}`;

describe('chart', () => {
  const withChromium = itIf(chromium !== undefined);
  const startMs = Date.now() - 250_000;
  const history = Array.from({ length: 50 }, (_, value) => ({ metric: 'heat', value, timestamp: startMs + 5_000 * value }));
  let address: string;
  let page: Page;

  beforeAll(async () => {
    address = (await start('chart/serve.js', ['0']).says(/^http:.*(?=\?.*\n)/)).trim();
    await post('boiler', history);
    await deployment.settle();
    if (chromium) page = await Page.open(`${address}?source=boiler&metric=heat&minutes=60`);
  }, 120_000);

  const now = (value: number): Promise<void> => post('boiler', [{ metric: 'heat', value, timestamp: Date.now() }]);

  /** The corners of the line, once the page shows this newest value and so many corners: percent from the upper left corner. */
  const sees = (newest: number, length: number): Promise<readonly (readonly [x: number, y: number])[]> =>
    eventually(async () => {
      const seen = (await page.run(look, null)) as Seen;
      expect([seen.state, seen.newest, seen.line.length]).toEqual(['Live', String(newest), length]);
      return seen.line;
    });

  withChromium('draws averages of a long window (needs Chromium)', async () => {
    const minutes = [...Map.groupBy(history, ({ timestamp }) => Math.floor(timestamp / 60_000)).values()];
    const newest = minutes.at(-1)!.map(({ value }) => value);
    await sees(newest.reduce((sum, value) => sum + value, 0) / newest.length, minutes.length);
  });

  withChromium('draws what there was, then what comes', async () => {
    await page.go(`${address}?source=boiler&metric=heat&minutes=9`);
    const line = await sees(49, 50);
    expect(line).toEqual(line.toSorted(([a], [b]) => a - b));
    expect(line).toEqual(line.toSorted(([, a], [, b]) => b - a));
    await now(-20.5);
    const ys = (await sees(-20.5, 51)).map(([, y]) => y);
    expect(Math.max(...ys)).toBe(ys.at(-1));
  });

  withChromium('fits a desk and a telephone, by day and by night, and asks for nothing from elsewhere', async () => {
    for (const [width, isDark, ground] of [
      [1280, false, 'rgb(246, 247, 249)'],
      [360, true, 'rgb(16, 21, 27)'],
    ] as const) {
      await page.look({ width, height: 640, isDark });
      expect(await page.run(fit, null)).toEqual({ sticksOut: false, width: expect.any(Number), ground });
    }
    expect(page.complaints).toEqual([]);
    expect(page.requests.filter((url) => !url.startsWith(address.replace(/\/$/, '')) && !/^(about|data):/.test(url))).toEqual([]);
  });

  withChromium('says that its connection is interrupted, and goes on behind the last point', async () => {
    await page.run(keepStates, null);
    link.cut();
    await now(12);
    await sees(12, 52);
    expect(await page.run('() => window.states', null)).toEqual([expect.stringMatching(/^Interrupted: /), 'Live']);
  });

  withChromium('leaves no stream behind', async () => {
    const { open } = link;
    await page.close();
    await until('the stream has ended at the server too', () => link.open === open - 1);
  });

  it.each([
    ['GET', '/', 200],
    ['GET', '/client/browser.js', 200],
    ['GET', '/client/reader/headwater.js', 200],
    ['GET', '/v1/sources/boiler/metrics/query?last=1h', 200],
    ['GET', '/v1/sources/boiler/metrics/query?last=a', 400],
    ['GET', '/v1/sources', 404],
    ['GET', '/v1/sources/boiler/logs', 404],
    ['GET', '/api/api-keys', 404],
    ['POST', '/ingest', 404],
    ['POST', '/v1/sources/boiler/metrics/query', 404],
    ['GET', '/serve.js', 404],
    ['GET', '/client/../package.json', 404],
    ['GET', '/client/../../device/index.js', 404],
    ['GET', `/client/${resolve('jest.config.js')}`, 404],
    ['GET', '/client/none.js', 404],
  ])('%s %s is %d at its server', async (method, path, status) => {
    expect(await send(address, { method, path })).toMatchObject({ status });
  });
});

describe('plain.py', () => {
  let python: string;
  beforeAll(async () => {
    if (hasPython) python = await interpreter(resolve('infra/examples/plain-requirements.txt'));
  }, 180_000);

  itIf(hasPython)('posts a point', async () => {
    await start('plain.py', ['post', 'plain', 'air.temperature', '21.5'], python).printed();
    await deployment.settle();
    expect(await valuesOf(headwater.source('plain'), 'air.temperature')).toEqual([21.5]);
  });

  itIf(hasPython)('follows a stream, and goes on behind the last point when its connection breaks', async () => {
    const follow = start('plain.py', ['follow', 'followed', 'a,b'], python);
    const told = (): number[] =>
      follow.stdout
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => (JSON.parse(line) as { readonly points: readonly Point[] }).points.map(({ value }) => value));
    const say = (value: number): Promise<void> =>
      post(
        'followed',
        ['a,b', 'other'].map((metric) => ({ metric, value, timestamp: Date.now() })),
      );
    await eventually(async () => {
      await say(0);
      expect(told()).toContain(0);
    });
    link.cut();
    for (const value of [1, 2, 3]) await say(value);
    await until('it has told all', () => told().includes(3));
    expect(told().filter((value) => value > 0)).toEqual([1, 2, 3]);
    expect(follow.stderr).toBe('');
  });

  itIf(hasPython)('is a device that measures and carries out commands, and sends them', async () => {
    const device = start('plain.py', ['device', 'fan'], python);
    const source = headwater.source('fan');
    await until('the device is online', async () => (await source.get()).online);
    const command = (...words: string[]): Promise<string> => start('plain.py', ['command', 'fan', ...words], python).printed();
    expect(await command('set_fan', '{"rpm": 900}')).toBe('{"rpm": 900}\n');
    await expect(command('fly', '{}')).rejects.toThrow(`KeyError('fly')`);
    await until('a point is stored', async () => 'air.temperature' in (await source.latest()));
    expect(device.stderr).toBe('');
  });
});
