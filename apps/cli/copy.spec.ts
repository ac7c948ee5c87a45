import type { ChildProcess } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { EmbeddedDeployment, Random } from '#testing';
import { newFolder, run, type Ran } from './test-run.js';
import { type Answer, handOn, type Seen, TestServer } from './test-server.js';

type Point = Readonly<{ metric: string; timestamp: number; value: unknown; class?: 'event'; tags?: Record<string, string> }>;

const t0 = Date.UTC(2026, 0, 31, 6);
const day = 86_400_000;
const until = '9999-12-31T23:59:59.999Z';
const wire = (ms: number): number => (ms < 1e12 ? ms / 1000 : ms < 1e14 ? ms : ms * 1e6);
const point = (metric: string, ms: number, value: number): Point => ({ metric, timestamp: ms, value });
const event = (metric: string, ms: number, value: unknown, tags?: Record<string, string>): Point => ({
  metric,
  timestamp: ms,
  value,
  class: 'event',
  ...(tags && { tags }),
});
const series = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n));

/** Bodies as devices have sent them, by source. */
const sent: Readonly<Record<string, readonly (readonly Point[])[]>> = {
  // Few points over a long time, also before 2001, when times are sent in seconds, and after 5138, when they are sent in nanoseconds.
  'line-a.1': [
    [point('rpm', Date.UTC(1999, 11, 31, 23, 59, 59, 999), -0.1), point('rpm', 1, 1e-300), point('rpm', Date.UTC(5200, 1, 3), 7)],
    series(40, (n) => point('a,b "ü"', t0 - 40 * day + n * day, n / 3)),
    series(30, (n) => ({ ...point('cpu', t0 - (n % 3), n), ...(n < 27 && { tags: { core: `${n % 9}`, 'a"': 'ü' } }) })),
    [event('door', t0, 'opened', { by: 'me' }), event('door', t0, 'opened', { by: 'me' }), event('door', t0, 'opened')],
    [event('door', t0, { a: [1.0, null], b: 'ü\u0000"' }), event('fault', t0 - day, 5), event('fault', t0 - day, '5')],
  ],
  // More points and events than an answer holds.
  'line-a.2': [
    ...series(2, (body) => series(8_000, (n) => point(`m${n % 2}`, t0 + body * 4_000 + (n >> 1), body + n))),
    series(1_200, (n) => event('tock', t0 + n, n)),
    series(30, (n) => event('tick', t0 + 7, n % 5)),
  ],
  'press-7': [[point('rpm', t0, 1)]],
  // More points, events, and bytes of events of one time than an answer or a body holds.
  wide: [
    ...series(2, (half) => series(5_100, (n) => point(`wide.${half * 5_100 + n}`, t0 + day, n))),
    series(2_500, (n) => event('tick', t0, n % 5)),
    ...series(2, (half) => series(700, (n) => event('large', t0 + 1, `${half}${n % 350}`.padEnd(2_600, '"é')))),
  ],
};

const flat = (id: string): Point[] => sent[id]!.flat();
/** Tags in the order of their names, as they are a part of what identifies a point. */
const keyOf = (metric: string, ms: number, tags: Readonly<Record<string, string>> = {}): string =>
  `${metric} ${ms} ${JSON.stringify(Object.entries(tags).toSorted(([one], [other]) => (one < other ? -1 : 1)))}`;
const values = (id: string) =>
  Object.fromEntries(
    flat(id)
      .filter((one) => one.class === undefined)
      .map(({ metric, timestamp, value, tags }) => [keyOf(metric, timestamp, tags), value]),
  );
/** All events of the server by time, as they came; those of one time in the order of their bodies. */
const entries = (id: string) =>
  flat(id)
    .filter((one) => one.class === 'event')
    .map(({ metric, timestamp, value, tags = {} }) => ({
      timestamp_ms: timestamp,
      metric,
      value: typeof value === 'string' ? value : JSON.stringify(value),
      tags,
    }))
    .toSorted((a, b) => a.timestamp_ms - b.timestamp_ms);

const reader = (of: EmbeddedDeployment): Headwater => new Headwater({ url: of.urls.api, apiKey: of.keys.own });

/** What a server has of a source: its points, read a few metrics and less and less time at once, and its events. */
async function stored(of: EmbeddedDeployment, id: string) {
  const source = reader(of).source(id);
  const points: Record<string, number> = {};
  async function read(metrics: readonly string[], start: number, end: number): Promise<void> {
    const { series: found, truncated } = await source.points({ metrics, start, end });
    const middle = Math.floor((start + end) / 2);
    if (truncated) {
      await read(metrics, start, middle);
      return read(metrics, middle, end);
    }
    for (const [metric, { timestamp_ms: times, value, tags }] of Object.entries(found))
      for (const [row, ms] of times.entries()) points[keyOf(metric, ms, tags![row])] = value[row]!;
  }
  const names = await source.metrics();
  for (let at = 0; at < names.length; at += 1_000) await read(names.slice(at, at + 1_000), 0, Date.parse(until));
  return { points, events: await source.logs({ start: 0, end: until, limit: 10_000 }) };
}

const expected = (id: string) => ({ points: values(id), events: entries(id) });
const nothing = { points: {}, events: [] };

describe('copy', () => {
  let origin: EmbeddedDeployment;
  let folder: string;

  beforeAll(async () => {
    [origin, folder] = [await EmbeddedDeployment.start(), newFolder()];
    for (const [source_id, bodies] of Object.entries(sent))
      for (const points of bodies)
        await reader(origin).ingest({ source_id, points: points.map((one) => ({ ...one, timestamp: wire(one.timestamp) })) });
    await origin.settle();
    for (const id of Object.keys(sent)) expect(await stored(origin, id)).toEqual(expected(id));
  });
  afterAll(() => origin.stop());

  const targets: EmbeddedDeployment[] = [];
  async function begin(): Promise<EmbeddedDeployment> {
    const target = await EmbeddedDeployment.start();
    targets.push(target);
    return target;
  }
  afterEach(async () => {
    for (const target of targets.splice(0)) await target.stop();
  });

  interface Wishes {
    readonly to: EmbeddedDeployment;
    readonly url?: string;
    readonly flags?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly during?: (child: ChildProcess) => void;
  }
  const state = (): string => join(folder, 'state.json');
  const copy = ({ to, url = to.urls.api, flags = [], env = {}, during }: Wishes): Promise<Ran> =>
    run(['copy', '--from', origin.urls.api, '--to', url, '--state', state(), '--until', until, ...flags], {
      env: { HEADWATER_FROM_API_KEY: origin.keys.own, HEADWATER_TO_API_KEY: to.keys.own, ...env },
      ...(during && { during }),
    });

  /** Hands on to a server what `refuse` does not answer. */
  const before = (to: EmbeddedDeployment, refuse: (seen: Seen, count: number) => Answer | undefined) =>
    TestServer.start(async (seen, count) => refuse(seen, count) ?? (await handOn(to.urls.api, seen)));

  it('brings two of the sources, as they are, and changes nothing when it is repeated', async () => {
    const to = await begin();
    const flags = ['--sources', 'line-a.*', '--json'];
    for (const time of ['first', 'second']) {
      const { code, stdout, stderr } = await copy({ to, flags });
      expect({ time, code, stderr }).toEqual({ time, code: 0, stderr: expect.stringContaining('answers the same as the origin') });
      expect(JSON.parse(stdout)).toMatchObject({ sources: 2, differences: 0 });
      expect(existsSync(state())).toBe(false);
      for (const id of ['line-a.1', 'line-a.2']) expect(await stored(to, id)).toEqual(expected(id));
      expect(await stored(to, 'press-7')).toEqual(nothing);
    }
  });

  it('brings more of one time than an answer or a body holds, in its order', async () => {
    const to = await begin();
    expect(await copy({ to, flags: ['--sources', 'wide'] })).toMatchObject({ code: 0 });
    expect(await stored(to, 'wide')).toEqual(expected('wide'));
  });

  it('brings what is in the window only', async () => {
    const to = await begin();
    const { code } = await copy({ to, flags: ['--sources', 'line-a.1', '--since', '2026-01-30T06:00Z', '--until', '2026-01-31T06:00Z'] });
    const { points, events } = await stored(to, 'line-a.1');
    const cpu = Object.keys(values('line-a.1')).filter((key) => key.startsWith('cpu') && !key.includes(` ${t0} `));
    expect([code, Object.keys(points).toSorted(), events.map(({ value }) => value)]).toEqual([
      0,
      [keyOf('a,b "ü"', t0 - day), ...cpu].toSorted(),
      ['5', '5'],
    ]);
  });

  it.each([1, 2])('goes on where it was killed, and has everything once (seed %i)', async (seed) => {
    const random = new Random(seed);
    const to = await begin();
    let kills = 0;
    let child: ChildProcess;
    let left = random.whole(1, 3);
    // Each time somewhere between two requests: before the target has the body, or before the command knows that.
    await using front = await TestServer.start(async (seen) => {
      const isLast = seen.path === '/ingest' && kills < 3 && --left === 0;
      const isFirst = random.chance(0.5);
      if (isLast) [kills, left] = [kills + 1, random.whole(1, 2)];
      if (isLast && isFirst) child.kill('SIGKILL');
      const answer = await handOn(to.urls.api, seen);
      if (isLast) child.kill('SIGKILL');
      return answer;
    });
    let ran: Ran;
    do ran = await copy({ to, url: front.url, flags: ['--sources', 'line-a.*'], during: (started) => (child = started) });
    while (ran.code === 'SIGKILL');
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('Goes on copying') });
    expect(kills).toBe(3);
    for (const id of ['line-a.1', 'line-a.2']) expect(await stored(to, id)).toEqual(expected(id));
  });

  it('ends at Ctrl-C, says how to go on, and goes on', async () => {
    const to = await begin();
    let child: ChildProcess;
    let interrupts = 0;
    await using front = await before(to, ({ path }) => {
      // Once: a process that is ending already would die by another.
      if (path === '/ingest' && interrupts++ === 0) child.kill('SIGINT');
      return undefined;
    });
    const wishes: Wishes = { to, url: front.url, flags: ['--sources', 'line-a.*,press-7'], during: (started) => (child = started) };
    const ended = await copy(wishes);
    expect(ended).toMatchObject({ code: 130, stderr: expect.stringContaining('The same command goes on from there.') });
    expect(existsSync(state())).toBe(true);
    expect(await copy({ ...wishes, flags: ['--sources', 'press-7'] })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is of another copy'),
    });
    expect(await copy(wishes)).toMatchObject({ code: 0 });
    for (const id of ['line-a.1', 'line-a.2', 'press-7']) expect(await stored(to, id)).toEqual(expected(id));
  });

  describe('to a server that is there', () => {
    let to: EmbeddedDeployment;
    beforeAll(async () => (to = await EmbeddedDeployment.start()));
    afterAll(() => to.stop());

    it('waits while the target is busy or away', async () => {
      const faults: Readonly<Record<number, Answer>> = {
        1: { status: 503, headers: { 'retry-after': '0' } },
        2: { status: 0, cut: true },
        4: { status: 429, headers: { 'retry-after': '0' } },
      };
      await using front = await before(to, (_, count) => faults[count]);
      const { code, stderr } = await copy({ to, url: front.url, flags: ['--sources', 'line-a.1'] });
      expect([code, stderr]).toEqual([0, expect.stringContaining('Trying again in')]);
      expect(await stored(to, 'line-a.1')).toEqual(expected('line-a.1'));
    });

    it('takes keys from files', async () => {
      const file = join(folder, 'key');
      writeFileSync(file, `${to.keys.own}\n`);
      const flags = ['--sources', 'line-a.1', '--state', join(folder, 'other.json')];
      expect(await copy({ to, flags, env: { HEADWATER_TO_API_KEY: '', HEADWATER_TO_API_KEY_FILE: file } })).toMatchObject({ code: 0 });
    });
    it('says so when the target has a point of its own', async () => {
      await reader(to).ingest({ source_id: 'press-7', points: [point('rpm', t0 + 1, 2)] });
      const { code, stderr } = await copy({ to, flags: ['--sources', 'press-7'] });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('press-7: the origin has 1 point, and the target 2 that are not the same'),
      ]);
    });

    it('says so when the target refuses a body, and of which source', async () => {
      const refused: Answer = { status: 400, json: { detail: 'No such point.', code: 'invalid_value' } };
      await using front = await before(to, ({ path, body }) =>
        path === '/ingest' && (body as { points: Point[] }).points[0]!.class === 'event' ? refused : undefined,
      );
      const { code, stderr } = await copy({ to, url: front.url, flags: ['--sources', 'line-a.2'] });
      expect([code, stderr]).toEqual([1, expect.stringContaining('line-a.2: The target: The server answered 400: No such point.')]);
      expect(stderr).toContain('Sent until then: 16,000 points and 0 events. The same command goes on from there.');
      rmSync(state());
    });

    it('says so when the API cannot give all points of one time', async () => {
      const tagged = series(10_001, (n) => ({ ...point('cpu', t0, n), tags: { core: `${n}` } }));
      for (const points of [tagged.slice(0, 5_001), tagged.slice(5_001)]) await reader(origin).ingest({ source_id: 'tagged', points });
      await origin.settle();
      const { code, stderr } = await copy({ to, flags: ['--sources', 'tagged'] });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('tagged: there may be more than 10,000 points of cpu at 2026-01-31T06:00:00.000Z'),
      ]);
      expect(
        Object.keys(
          (
            await reader(to)
              .source('tagged')
              .points({ start: t0, end: t0 + 1 })
          ).series,
        ),
      ).toEqual(['cpu']);
    });

    it.each([
      ['a wrong key of the target', [], { HEADWATER_TO_API_KEY: 'hw_wrong' }, 1, 'The target: The server answered 401'],
      ['a wrong key of the origin', [], { HEADWATER_FROM_API_KEY: 'hw_wrong' }, 1, 'Check --from-key, or HEADWATER_FROM_API_KEY.'],
      ['no key', [], { HEADWATER_TO_API_KEY: '' }, 2, 'set HEADWATER_TO_API_KEY or HEADWATER_TO_API_KEY_FILE, or give --to-key'],
      ['a key twice', [], { HEADWATER_TO_API_KEY_FILE: '/x' }, 2, 'Set HEADWATER_TO_API_KEY or HEADWATER_TO_API_KEY_FILE, not both.'],
      ['a key file that is not there', [], { HEADWATER_TO_API_KEY: '', HEADWATER_TO_API_KEY_FILE: '/x' }, 2, 'cannot be read (ENOENT)'],
      ['an unknown source', ['--sources', 'line-a.1,nobody'], {}, 1, 'The origin: The server answered 404'],
      ['what is no source', ['--sources', 'a b'], {}, 2, '--sources: "a b" is neither a source id nor the beginning of one and *.'],
      ['what is no time', ['--since', 'now'], {}, 2, '--since "now" is no time like'],
      ['an empty window', ['--since', '2026-01-02', '--until', '2026-01-01'], {}, 2, 'Let --since be before --until'],
      ['a state in no folder', ['--state', '/nowhere/state.json'], {}, 1, '/nowhere/state.json cannot be written (ENOENT)'],
    ] as const)('says so with %s', async (_, flags, env, exitCode, said) => {
      const { code, stderr } = await copy({ to, flags, env });
      expect([code, stderr]).toEqual([exitCode, expect.stringContaining(said)]);
    });

    it('says so with a state that is damaged', async () => {
      writeFileSync(state(), '{"format":1,"from":');
      const { code, stderr } = await copy({ to });
      expect([code, stderr]).toEqual([1, expect.stringContaining('does not say how far a copy is: delete it')]);
    });

    it('says so when origin and target are the same', async () => {
      const env = { HEADWATER_TO_API_KEY: origin.keys.own };
      expect(await copy({ to: origin, env })).toMatchObject({ code: 2, stderr: expect.stringContaining('the same organization') });
    });
  });
});
