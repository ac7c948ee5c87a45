import { afterAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { errorCases } from '#model';
import { openStorage } from '#sqlite';
import { eventually } from '#testing';
import { endWithUs } from '../../infra/servers/index.js';

const main = fileURLToPath(new URL('../../bundled/embedded.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'headwater-run-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

interface Server {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Exit code, once it has ended. */
  readonly ended: Promise<number | null>;
}

/** @param command starts the server. */
function launch(env: Record<string, string>, command: readonly [string, ...string[]] = [process.execPath, main]): Server {
  const [file, ...words] = command;
  const child = spawn(file, words, {
    env: { PATH: process.env['PATH'], HEADWATER_PORT: '0', HEADWATER_ADMIN_PORT: '0', ...env },
  });
  endWithUs(child);
  children.push(child);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (chunk: string) => (output[name] += chunk));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, stdout: () => output.stdout, stderr: () => output.stderr, ended };
}

/** The address, once it listens. */
const listening = (server: Server): Promise<string> =>
  eventually(() => {
    const url = /listening on (http:[^"\s]+)/.exec(server.stderr())?.[1];
    if (!url) throw new Error(`does not listen: ${server.stderr()}`);
    return url;
  });

const keyIn = (output: string): string | undefined => /hw_\w{38}/.exec(output)?.[0];

describe('a server', () => {
  it('prints its first key once, serves with it, ends with 0, and says later how to make another', async () => {
    const env = { HEADWATER_DATA: join(dir, 'first'), HEADWATER_LOG_LEVEL: 'debug' };
    const first = launch(env);
    const url = await listening(first);
    const key = keyIn(first.stdout())!;
    expect(first.stdout()).toContain(`curl -sS ${url}/ingest -H 'x-api-key: ${key}'`);
    const answer = await fetch(`${url}/ingest`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{"source_id": "s", "points": [{"metric": "m", "value": 1}]}',
    });
    expect([answer.status, await answer.json()]).toEqual([200, { success: true, count: 1, source_id: 's' }]);
    const id = answer.headers.get('x-request-id');
    await eventually(() => expect(first.stderr()).toContain(`"request_id":"${id}"`));
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    const ownerLink = new RegExp(`${url}/join/[\\w-]{43}`);
    const link = ownerLink.exec(first.stdout())![0];
    expect(first.stderr()).not.toContain(key);
    expect(first.stderr()).not.toContain(link);

    const second = launch(env);
    const secondUrl = await listening(second);
    await eventually(() => expect(second.stderr()).toMatch(/npx headwater keys create .*--data .*first"/));
    // Nobody owns it yet: another link, in place of the first.
    const another = /\/join\/([\w-]{43})/.exec(second.stdout())![1]!;
    const accept = async (token: string): Promise<number> => {
      const body = JSON.stringify({ token, email: 'ada@example.com', password: 'correct horse battery' });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      return (await fetch(`${secondUrl}/api/invitations/accept`, init)).status;
    };
    expect([await accept(link.split('/').at(-1)!), await accept(another)]).toEqual([404, 200]);
    second.child.kill('SIGINT');
    expect(await second.ended).toBe(0);

    const third = launch(env);
    await listening(third);
    await eventually(() => expect(third.stderr()).toMatch(/npx headwater keys create .*--data .*first"/));
    third.child.kill('SIGINT');
    expect([await third.ended, third.stdout()]).toEqual([0, '']);
  });

  it('loses and resets no request when it is stopped under load', async () => {
    const server = launch({ HEADWATER_DATA: join(dir, 'load') });
    const url = new URL(await listening(server));
    const key = keyIn(server.stdout())!;
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const outcomes = new Map<string, number>();
    const post = async (): Promise<string> => {
      const outgoing = request(new URL('/ingest', url), {
        agent,
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
      });
      outgoing.end('{"source_id": "s", "points": [{"metric": "m", "value": 1}]}');
      try {
        const [incoming] = await once(outgoing, 'response');
        await text(incoming);
        return String(incoming.statusCode);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? 'unknown';
      }
    };
    let answers = 0;
    const client = async (): Promise<void> => {
      for (let outcome = '200'; outcome === '200';) {
        outcome = await post();
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (++answers === 500) server.child.kill('SIGTERM');
      }
    };
    await Promise.all(Array.from({ length: 32 }, client));
    expect(await server.ended).toBe(0);
    expect(outcomes.get('200')).toBeGreaterThanOrEqual(500);
    expect(Object.fromEntries(outcomes)).toEqual({ '200': outcomes.get('200'), ECONNREFUSED: 32 });
    agent.destroy();
  });

  it('stops when the shell has ended in which npm has started it', async () => {
    const env = { HEADWATER_DATA: join(dir, 'shell'), npm_lifecycle_event: 'start' };
    const server = launch(env, ['sh', '-c', `'${process.execPath}' '${main}'; true`]);
    await listening(server);
    server.child.kill('SIGTERM');
    // Its output ends with the server.
    await server.ended;
    expect(server.stderr()).toContain('SIGTERM: finishing what is under way');
  });

  it('stops at once at the second signal', async () => {
    const server = launch({ HEADWATER_DATA: join(dir, 'impatient') });
    const url = new URL(await listening(server));
    const slow = request(new URL('/ingest', url), {
      method: 'POST',
      headers: { 'x-api-key': keyIn(server.stdout()), 'content-type': 'application/json' },
    });
    slow.on('error', () => {}).write('{');
    await eventually(async () => {
      const metrics = await (await fetch(/"metrics":"([^"]+)"/.exec(server.stderr())![1]!)).text();
      expect(metrics).toContain('headwater_requests_under_way 1');
    });
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    await eventually(() => expect(server.stderr()).toContain('again to stop at once'));
    await eventually(() => {
      server.child.kill('SIGTERM');
      expect(server.child.exitCode).toBe(1);
    });
    expect(await server.ended).toBe(1);
  });
});

it('warns of a folder whose log nobody can vouch for and whose store is missing, and starts', async () => {
  const env = { HEADWATER_DATA: join(dir, 'unwitnessed') };
  const first = launch(env);
  await listening(first);
  first.child.kill('SIGTERM');
  await first.ended;
  writeFileSync(join(env.HEADWATER_DATA, 'log', 'head'), 'rubbish');
  rmSync(join(env.HEADWATER_DATA, 'store.db'));
  const second = launch(env);
  await listening(second);
  expect(second.stderr()).toMatch(/"level":"warn".*log\/head is missing or damaged: /);
  expect(second.stderr()).toMatch(/"level":"warn".*store\.db is missing or empty: it is made again from the log/);
});

describe('what keeps a server from starting is said in one sentence', () => {
  it('a port that is taken, and the start after that prints the first key', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const outcomes: [number | null, string][] = [];
    for (const variable of ['HEADWATER_PORT', 'HEADWATER_ADMIN_PORT']) {
      const server = launch({ HEADWATER_DATA: join(dir, 'port'), [variable]: String(port) });
      outcomes.push([await server.ended, server.stderr()]);
    }
    other.close();
    // No key was made that nobody has seen.
    const later = launch({ HEADWATER_DATA: join(dir, 'port') });
    const url = await listening(later);
    const answer = await fetch(`${url}/v1/sources`, { headers: { 'x-api-key': keyIn(later.stdout())! } });
    expect(answer.status).toBe(200);
    later.child.kill('SIGTERM');
    const sentence = (variable: string): string =>
      `Port ${port} is taken by another program. Set ${variable} to another one, or end that program.\n`;
    expect(outcomes).toEqual([
      [1, sentence('HEADWATER_PORT')],
      [1, sentence('HEADWATER_ADMIN_PORT')],
    ]);
  });

  it('a data folder that another server has open', async () => {
    const env = { HEADWATER_DATA: join(dir, 'locked') };
    const first = launch(env);
    await listening(first);
    const second = launch(env);
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toBe(
      `The data folder ${env.HEADWATER_DATA} is in use: stop the server that has it open, or name another folder.\n`,
    );
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
  });

  it.each([
    ['log/0000000000000000.journal', 'The log is damaged: 0000000000000000.journal does not begin as a journal does.', 'log_corrupt'],
    ['store.db', 'The store is damaged: have the operator rebuild it from the log.', 'store_corrupt'],
  ] as const)('a %s that is not one', async (file, what, code) => {
    const data = mkdtempSync(join(dir, 'damaged-'));
    await (await openStorage(data)).close();
    writeFileSync(join(data, file), 'x'.repeat(8192));
    const server = launch({ HEADWATER_DATA: data });
    expect([await server.ended, server.stderr()]).toEqual([1, `${what} ${errorCases[code].remedy}\n`]);
  });

  it('a configuration with mistakes', async () => {
    const server = launch({ HEADWATER_PORT: 'x', HEADWATER_HOST: '/', HEADWATER_DATA: join(dir, 'config') });
    expect(await server.ended).toBe(1);
    expect(server.stderr().trim().split('\n')).toHaveLength(2);
  });
});
