import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '#testing';
import { newFolder, run, type Ran } from './test-run.js';
import { TestServer, type Answer } from './test-server.js';

const key = `hw_${'k'.repeat(38)}`;
const startedFor = (seconds: number): Answer => ({
  status: 201,
  json: {
    device_code: 'a/b',
    user_code: 'BCDF-GHJK',
    verification_url: 'https://t.example/claim?code=BCDF-GHJK',
    expires_in: seconds,
    interval: 0.05,
  },
});
const pending: Answer = { status: 200, json: { status: 'pending', interval: 5 } };
const approved: Answer = { status: 200, json: { status: 'approved', api_key: key, org_id: 'org_1' } };

interface LoggedIn extends Ran {
  readonly seen: TestServer['seen'];
  /** The folder that configuration is written to. */
  readonly config: string;
}

/**
 * Runs the command against a server whose polls are answered like this, the last one again and again.
 *
 * @param seconds for which the command may wait for a decision.
 */
async function login(
  polls: readonly Answer[],
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  seconds = 60,
): Promise<LoggedIn> {
  await using server = await TestServer.start((_, before) =>
    before === 0 ? startedFor(seconds) : polls[Math.min(before, polls.length) - 1]!,
  );
  const config = newFolder();
  const ran = await run(['login', '--url', server.url, '--name', 'laptop', ...args], { env: { XDG_CONFIG_HOME: config, ...env } });
  return { ...ran, seen: server.seen, config };
}
const file = (config: string): string => join(config, 'headwater', 'config.json');

describe('headwater login', () => {
  it('waits for the person, and keeps the key where all commands look, for the user only', async () => {
    const { code, stdout, stderr, seen, config } = await login([pending, pending, approved]);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('BCDF-GHJK');
    expect(stderr).toContain('Open this address in a browser:\n  https://t.example/claim?code=BCDF-GHJK\n');
    expect(stderr).toContain('org_1');
    expect(stderr).not.toContain(key);
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/auth/claim',
      ...Array.from({ length: 3 }, () => 'GET /api/auth/claim/a%2Fb'),
    ]);
    expect(seen[0]!.body).toEqual({ name: 'laptop', scopes: ['read', 'write'] });
    expect(seen.map(({ apiKey }) => apiKey)).toEqual(Array.from(seen, () => undefined));
    expect(JSON.parse(readFileSync(file(config), 'utf8'))).toMatchObject({ api_key: key });
    expect(statSync(file(config)).mode & 0o777).toBe(0o600);
  });

  it('asks for the sources that are named', async () => {
    const { seen } = await login([approved], ['--source', 'press-7', '--source', 'line-a.*']);
    expect(seen[0]!.body).toMatchObject({ sources: ['press-7', 'line-a.*'] });
  });

  it.each([
    ['denied', [pending, { status: 200, json: { status: 'denied' } }], 'was denied'],
    ['expired', [{ status: 200, json: { status: 'expired' } }], 'Nobody has approved'],
    ['handed out before', [{ status: 200, json: { status: 'approved', org_id: 'o' } }], 'was handed out already'],
    ['forgotten by the server', [{ status: 404, json: { detail: 'The device code is not known.' } }], 'The device code is not known.'],
    ['answered by something else', [{ status: 200, json: { hello: 1 } }], 'does not answer as a Headwater server does'],
  ] as const)('says so when the request is %s, and writes nothing', async (_, polls, said) => {
    const { code, stderr, config } = await login(polls);
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(existsSync(file(config))).toBe(false);
  });

  it('gives up when nobody has decided in time', async () => {
    const { code, stderr, config } = await login([pending], [], {}, 1);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Nobody has approved')]);
    expect(existsSync(file(config))).toBe(false);
  });

  it('goes on when the server is busy or away for a moment, and waits for as long as it is told', async () => {
    const begunMs = performance.now();
    const busy: Answer = { status: 429, headers: { 'retry-after': '1' }, json: { detail: 'Too fast.' } };
    const { code, seen } = await login([{ status: 200, cut: true }, { status: 503, json: {} }, { ...pending }, approved]);
    expect([code, seen.length]).toEqual([0, 5]);
    expect((await login([busy, approved])).code).toBe(0);
    expect(performance.now() - begunMs).toBeGreaterThan(1000);
  });

  it('opens a browser where there is a display, and never fails for it', async () => {
    const tools = newFolder();
    const opened = join(tools, 'opened');
    mkdirSync(tools, { recursive: true });
    for (const opener of ['xdg-open', 'open']) {
      writeFileSync(join(tools, opener), `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${opened}'\n`);
      chmodSync(join(tools, opener), 0o755);
    }
    const env = { DISPLAY: ':9', PATH: `${tools}:${process.env['PATH']}` };
    expect(await login([approved], [], env)).toMatchObject({ code: 0, stderr: expect.stringContaining('A browser opens') });
    await eventually(() => expect(readFileSync(opened, 'utf8')).toBe('1\nhttps://t.example/claim?code=BCDF-GHJK\n'));
    expect((await login([approved], [], { ...env, PATH: '/nowhere' })).code).toBe(0);
  });

  it('names what is no source before it asks anybody', async () => {
    expect(await run(['login', '--url', 'http://127.0.0.1:1', '--source', '/'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"/"'),
    });
  });
});
