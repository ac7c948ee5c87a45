import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import type { Running } from '#runtime';
import { openStorage } from '#sqlite';
import { eventually, Link, makeKeysIn, startEmbedded, until } from '#testing';
import { newFolder, run, type Ran } from './test-run.js';

let server: Running;
let key: string;
let link: Link;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  const dataDir = newFolder();
  const storage = await openStorage(dataDir);
  key = (await makeKeysIn(storage.log)).own;
  await storage.close();
  server = await startEmbedded({ dataDir });
  link = await Link.to(() => Number(new URL(server.url).port));
  env = { HEADWATER_URL: `http://127.0.0.1:${link.port}`, HEADWATER_API_KEY: key };
}, 60_000);
afterAll(async () => {
  link.close();
  await server.stop();
});

const send = async (source: string, ...points: readonly object[]): Promise<void> => {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/ingest`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ source_id: source, points }),
  });
  expect(answer.status).toBe(200);
};

/** Runs a tail; `act` is called once it listens, which is when it prints what is sent. */
async function tail(args: readonly string[], hello: () => Promise<void>, act: (said: () => string) => Promise<void>): Promise<Ran> {
  let acting: Promise<void> | undefined;
  const during = (child: ChildProcess): void => {
    let said = '';
    child.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    acting = eventually(async () => {
      await hello();
      expect(said).not.toBe('');
    }).then(() => act(() => said));
  };
  const ran = await run(['tail', ...args], { env, during });
  await acting;
  return ran;
}

describe('tail', () => {
  it('prints points of the metrics that are asked for, and goes on where it was when its connection breaks', async () => {
    const { stdout, stderr, code } = await tail(
      ['a', '--metrics', 'm,n', '--count', '60'],
      () => send('a', { metric: 'm', value: 0, timestamp: 1e12 }),
      async (said) => {
        const isOver = (): boolean => said().split('\n').length > 60;
        for (let n = 1; !isOver(); n++) {
          await send('a', { metric: 'n', value: n, timestamp: 1e12 + n, tags: { a: 'b' } }, { metric: 'other', value: n });
          if (n % 10 === 5) link.cut();
          if (n % 10 === 9) await until(`${n} is printed`, () => isOver() || said().includes(` n ${n} `));
        }
      },
    );
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Connecting again in/)]);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => line.includes(' n '));
    expect(lines).toEqual(lines.map((_, at) => `${new Date(1e12 + at + 1).toISOString()} n ${at + 1} a=b`));
  }, 120_000);

  it('prints events as JSON, one a line', async () => {
    const { stdout, code } = await tail(
      ['b', '--logs', '--json', '--count', '1'],
      () => send('b', { metric: 'e', class: 'event', value: { a: ['x\n'] }, timestamp: 1e12 }),
      () => Promise.resolve(),
    );
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { source_id: 'b', metric: 'e', value: { a: ['x\n'] }, timestamp: 1e12 }]);
  }, 60_000);

  it.each([
    ['a key that is not valid', ['a', '--api-key', 'hw_no'], 1, /401/],
    ['a server that is not there', ['a', '--url', 'http://127.0.0.1:9'], 1, /No answer/],
    ['no source', ['-'], 2, /source/],
    ['a count that is none', ['a', '--count', '0'], 2, /--count/],
  ] as const)(
    'ends at once with %s',
    async (_, args, code, said) => {
      const ran = await run(['tail', ...args], { env });
      expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(said)]);
    },
    60_000,
  );
});
