import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { newFolder, run, type RunOptions } from './test-run.js';
import { type Answer, type Seen, TestServer } from './test-server.js';
import { counted } from './text.js';

interface Point {
  readonly metric: string;
  readonly timestamp: number;
  readonly value: number;
}

const ok: Answer = { status: 200, json: { success: true } };
const points = (seen: readonly Seen[]): Point[] => seen.flatMap(({ body }) => (body as { points: Point[] }).points);
const file = (content: string | Buffer, name = 'points.csv'): string => {
  const path = join(newFolder(), name);
  writeFileSync(path, content);
  return path;
};
const env = (server: TestServer): RunOptions['env'] & object => ({ HEADWATER_URL: server.url, HEADWATER_API_KEY: 'hw_test' });
const importInto = (server: TestServer, args: readonly string[], options: RunOptions = {}) =>
  run(['import', '--source', 's', ...args], { env: env(server), ...options });

describe('import sends the points of a file', () => {
  const at = Date.parse('2026-01-31T06:00:00Z');
  it.each([
    ['a header', 'timestamp,rpm\n2026-01-31 06:00:00,5\n', [], [['rpm', at, 5]]],
    ['another name', 'timestamp,value\n2026-01-31 06:00:00,5\n', ['--metric', 'rpm'], [['rpm', at, 5]]],
    ['no header', `${at},5\n`, ['--metric', 'rpm'], [['rpm', at, 5]]],
    ['CRLF, a byte order mark, no end', '\ufefftimestamp,rpm\r\n2026-01-31T06:00:00Z,5', [], [['rpm', at, 5]]],
    [
      'two metrics and an empty cell',
      `t,a,b\n${at},1,2\n${at + 1},,3\n`,
      [],
      [
        ['a', at, 1],
        ['b', at, 2],
        ['b', at + 1, 3],
      ],
    ],
    ['one of two columns', `t,a,b\n${at},1,2\n`, ['--metric', 'b'], [['b', at, 2]]],
    ['a quoted metric', `t,"a ""x"", °C"\n${at},-1.5e3\n`, [], [['a "x", °C', at, -1500]]],
    ['a time of the last century, in seconds', 't,a\n1999-12-31 23:59:59.999,1\n', [], [['a', 946_684_799.999, 1]]],
  ])('%s', async (_, text, flags, expected) => {
    await using server = await TestServer.start(() => ok);
    const { code, stdout, stderr } = await importInto(server, [file(text), ...flags]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `Stored ${counted(expected.length, 'point')} of s.\n` });
    expect(points(server.seen).map(({ metric, timestamp, value }) => [metric, timestamp, value])).toEqual(expected);
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/ingest', apiKey: 'hw_test', body: { source_id: 's' } });
  });

  it.each([
    ['a gzip file', (text: string) => ({ path: file(gzipSync(text), 'points.csv.gz'), stdin: '' })],
    ['stdin', (text: string) => ({ path: '-', stdin: text })],
    ['gzip on stdin', (text: string) => ({ path: '-', stdin: gzipSync(text) })],
  ])('from %s', async (_, give) => {
    await using server = await TestServer.start(() => ok);
    const { path, stdin } = give('t,a\n1700000000,1\n1700000001,2\n');
    const { code, stdout } = await importInto(server, [path, '--json'], { stdin });
    expect([code, JSON.parse(stdout)]).toEqual([0, { source_id: 's', points: 2 }]);
    expect(points(server.seen).map(({ value }) => value)).toEqual([1, 2]);
  });

  it.each([
    ['once each', '1,1\n2,2\n2,\n', 'Stored 2 points of s.\n'],
    ['twice', '1,1\n2,2\n2,3\n2,4\n', 'Stored 4 points of s. 2 of them have the time of the line before and replaced its value.\n'],
    [
      'back and forth',
      '2,1\n1,2\n',
      'Stored 2 points of s. Its times do not ascend: where one comes again, the later line has replaced the earlier one.\n',
    ],
  ])('and its count says what became of times that come %s', async (_, rows, said) => {
    await using server = await TestServer.start(() => ok);
    const { code, stderr } = await importInto(server, [file(`t,a\n${rows}`)]);
    expect([code, stderr]).toEqual([0, said]);
  });

  it('in batches of at most 10,000 points, with every row in one', async () => {
    await using server = await TestServer.start(() => ok);
    const rows = Array.from({ length: 8001 }, (_, index) => `${1_700_000_000_000 + index},${index},${index},${index}\n`);
    const { code } = await importInto(server, [file(`t,a,b,c\n${rows.join('')}`)]);
    expect(code).toBe(0);
    expect(server.seen.map(({ body }) => (body as { points: Point[] }).points.length).sort((a, b) => a - b)).toEqual([4005, 9999, 9999]);
  });

  it('in batches below 5 MB, whatever the metrics are called', async () => {
    await using server = await TestServer.start(() => ok);
    const name = '""'.repeat(250);
    const rows = Array.from({ length: 12_000 }, (_, index) => `${1_700_000_000_000 + index},1\n`);
    const { code } = await importInto(server, [file(`t,"${name}"\n${rows.join('')}`)]);
    expect(code).toBe(0);
    expect(points(server.seen)).toHaveLength(12_000);
    expect(Math.max(...server.seen.map(({ bodyBytes }) => bodyBytes))).toBeLessThan(5_000_000);
  });
});

describe('import tells what is wrong', () => {
  it.each([
    ['t,a\n1700000000,1\n1700000001,x\n', 1, 'Line 3, column 2 (a): "x" is not a number', 1],
    ['t,a\n1700000000,1\nyesterday,2\n', 1, 'Line 3, column 1: "yesterday" is not a time', 1],
    ['t,a\n1700000000,1\n\n1700000001,1,2\n', 1, 'Line 4 has 3 cells where the first line has 2', 1],
    ['t,a\n1700000000,1\n1700000001,"1\n', 1, 'Line 3: a quote is misplaced', 1],
    ['t,a\n1700000000,1e999\n', 1, 'Line 2, column 2 (a): "1e999" is not a number', 0],
    ['t,a\n1700000000,\u001b[2J\n', 1, 'Line 2, column 2 (a): "?[2J" is not a number', 0],
    ['t,a\n1700000000,0x10\n', 1, 'Line 2, column 2 (a): "0x10" is not a number', 0],
    ['', 1, 'is empty', 0],
    ['t\n', 1, 'Line 1 has one column', 0],
    ['t,a,a\n', 2, 'Two columns would be the metric "a"', 0],
    ['1700000000,1\n', 2, 'has no header', 0],
  ])('%j', async (text, exitCode, said, stored) => {
    await using server = await TestServer.start(() => ok);
    const { code, stdout, stderr } = await importInto(server, [file(text)]);
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toContain(said);
    expect(points(server.seen)).toHaveLength(stored);
    expect(stderr).not.toContain('Run the same command again');
    expect(stderr.includes('Mend that, then run the same command again')).toBe(stored > 0);
  });

  it.each([
    ['a missing file', ['/nowhere/x.csv'], 1, '/nowhere/x.csv cannot be read'],
    ['a folder', ['/'], 1, 'is a folder'],
    [
      'a bad source',
      ['-', '--source', '../x'],
      2,
      '--source "../x": Use a source id of 1 to 256 of A-Z a-z 0-9 . _ : @ + - that begins with a letter or digit.\n',
    ],
  ])('%s', async (_, args, exitCode, said) => {
    await using server = await TestServer.start(() => ok);
    const { code, stderr } = await importInto(server, args);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(said);
  });

  it.each([
    ['UTF-16', Buffer.from('\ufefft,a\n', 'utf16le'), 'is not UTF-8'],
    ['a cut gzip', gzipSync('t,a\n1700000000,1\n').subarray(0, 20), 'is broken or cut off'],
  ])('%s', async (_, bytes, said) => {
    await using server = await TestServer.start(() => ok);
    const { code, stderr } = await importInto(server, [file(bytes)]);
    expect(code).toBe(1);
    expect(stderr).toContain(said);
  });

  it('a refusal, with what the server says of it and never with the key', async () => {
    const problem = { detail: 'The key lacks write.', request_id: 'r1', errors: [{ pointer: '/points/0', detail: 'Bad.' }] };
    await using server = await TestServer.start(() => ({ status: 403, json: problem }));
    const { code, stderr } = await importInto(server, [file('t,a\n1700000000,1\n')]);
    expect([code, stderr]).toEqual([1, 'headwater: The server answered 403: The key lacks write. (request r1)\n  /points/0: Bad.\n']);
    expect(server.seen).toHaveLength(1);
  });

  it('a server that is not there, at once', async () => {
    const server = await TestServer.start(() => ok);
    await server[Symbol.asyncDispose]();
    const { code, stderr } = await importInto(server, [file('t,a\n1700000000,1\n')]);
    expect(code).toBe(1);
    expect(stderr).toContain(`No answer from ${server.url} (ECONNREFUSED). Is the server running?`);
  });
});

describe('import goes on when the server is busy or away', () => {
  const three = Array.from({ length: 25_000 }, (_, index) => `${1_700_000_000_000 + index},${index}\n`).join('');

  it.each([
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '0' } }],
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '0' } }],
    ['502', { status: 502 }],
    ['a connection that breaks', { status: 0, cut: true }],
  ] as const)('%s', async (_, fault) => {
    await using server = await TestServer.start((_seen, before) => (before === 1 || before === 3 ? fault : ok));
    const { code, stderr } = await importInto(server, [file(`t,a\n${three}`)]);
    expect(code).toBe(0);
    expect(stderr).toContain('Trying again in');
    expect(new Set(points(server.seen).map(({ value }) => value)).size).toBe(25_000);
    expect(stderr).toContain('Stored 25,000 points');
  });

  it('of two values for one time the later line arrives last, also when the earlier is sent again', async () => {
    const rows = Array.from({ length: 30_000 }, (_, index) => `${1_700_000_000_000 + (index % 10_000)},${Math.floor(index / 10_000)}\n`);
    const stored = new Map<number, number>();
    await using server = await TestServer.start((seen, before) => {
      if (before % 2 === 0) return { status: 503, headers: { 'retry-after': '0' } };
      for (const point of points([seen])) stored.set(point.timestamp, point.value);
      return ok;
    });
    expect((await importInto(server, [file(`t,a\n${rows.join('')}`)])).code).toBe(0);
    expect([...new Set(stored.values())]).toEqual([2]);
  });

  it('Ctrl-C ends it with 130 and says that it can be run again', async () => {
    let interrupt = (): void => undefined;
    await using server = await TestServer.start(async (_seen, before) => {
      // Once: a process that is ending already would die by another.
      if (before === 1) interrupt();
      if (before > 0) await new Promise(() => undefined);
      return ok;
    });
    const { code, stderr } = await importInto(server, [file(`t,a\n${three}`)], {
      during: (child) => (interrupt = () => void child.kill('SIGINT')),
    });
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(/^headwater: Interrupted\.\nStored until then: 10,000 points\. Run the same command again/),
    ]);
  });
});
