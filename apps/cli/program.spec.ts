import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { TelemetryError } from '#model';
import { commands } from './commands.js';
import { onDataPlane } from './target.js';
import { main, newFolder, run } from './test-run.js';
import { TestServer } from './test-server.js';

describe('help', () => {
  it.each(Object.entries(commands))('of %s has a summary and examples', async (name, { summary }) => {
    const { code, stdout, stderr } = await run([...name.split(' '), '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`${summary}.`);
    expect(stdout).toContain(`Examples:\n  headwater ${name}`);
  });

  it('the version is one however it is asked for', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const asked = await Promise.all([['--version'], ['-V'], ['version']].map(async (args) => (await run(args)).stdout));
    expect(asked).toEqual(Array.from(asked, () => `${version}\n`));
  });

  it('of keys create says where every key may read', async () => {
    const { stdout } = await run(['keys', 'create', '--help']);
    const said = stdout.replaceAll(/\s+/g, ' ');
    expect(said).toContain('read is needed for reading only where the organization enforces it: otherwise any key may read');
    expect(said).toContain('write is needed to send points, admin to manage keys.');
  });

  it.each([[['--help']], [['help']], [['keys', '--help']], [['--version']], [['-V']], [['version']]])('%j goes to stdout', async (args) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toBe('');
  });
});

it('help ends in silence when its reader has gone', async () => {
  const child = spawn(process.execPath, [main, '--help']);
  child.stdout.destroy();
  const ended = once(child, 'close');
  expect([await text(child.stderr), await ended]).toEqual(['', [141, null]]);
});

describe('wrong usage is exit code 2 and a sentence on stderr', () => {
  it.each([
    [[], 'Usage: headwater'],
    [['keys'], 'Usage: headwater keys'],
    [['inport'], 'Did you mean import?'],
    [['import', '--source', 's'], "missing required argument 'FILE'"],
    [['import', 'x.csv'], "required option '--source <ID>'"],
    [['import', 'a.csv', 'b.csv', '--source', 's'], 'too many arguments'],
    [['copy', '--from', 'http://a'], "required option '--to <URL>'"],
    [['copy', '--from', 'http://a', '--to', 'http://b'], 'There is no API key for the origin: set HEADWATER_FROM_API_KEY'],
    [['keys', 'list', '--wrong'], "unknown option '--wrong'"],
    [['keys', 'list'], 'There is no API key: run `headwater init`'],
    [['keys', 'list', '--api-key', 'a b'], 'The API key is empty or damaged: copy it again.'],
    [['keys', 'list', '--api-key', 'hw_x', '--url', 'localhost:8080'], 'is not the address of a server'],
    [['keys', 'list', '--api-key', 'hw_x', '--url', 'http://me:secret@localhost'], 'with nothing else in it'],
    [['dlq'], 'Usage: headwater dlq'],
    [['dlq', 'show', 'points'], 'There is no topic "points": use one of telemetry.points.v1, '],
    [['dlq', 'show', 'sources.v1', '--limit', '0'], '--limit "0" is no number from 1 to 10000'],
    [['dlq', 'redrive', 'sources.v1.dlq'], 'Give either --offset or --all.'],
    [['dlq', 'redrive', 'sources.v1', '--all', '--offset', '1'], 'Give either --offset or --all.'],
    [['dlq', 'redrive', 'sources.v1', '--offset', '-1'], '--offset "-1" is no offset.'],
    [['dlq', 'purge', 'sources.v1', '--before', 'now'], '--before "now" is no time like'],
    [['verify', '--without-deleted-records'], '--without-deleted-records goes with --repair'],
    [['keys', 'create', '--api-key', 'hw_x', '--name', 'n', '--scopes', 'read,root'], 'There is no scope "root"'],
    [['org', 'set', 'org_x'], 'Give --name, --payment, --limit or --enforce-read-scope.'],
    [['org', 'set', 'org_x', '--limit', 'speed=1'], 'There is no limit "speed"'],
    [['org', 'create', '--name', 'n', '--limit', 'series=0'], 'a whole number above 0'],
    [['org', 'create', '--name', 'n', '--payment', 'maybe'], 'Write --payment yes or --payment no.'],
    [['backup', 'b'], 'Say what is backed up: with --data or with --url.'],
    [['backup', 'b', '--url', 'headwater:8081'], '--url "headwater:8081" is no address like http://headwater:8081.'],
    [['backup', 'b', '--url', 'http://headwater:8081'], 'Set HEADWATER_BACKUP_TOKEN, or HEADWATER_BACKUP_TOKEN_FILE'],
    [['trim', '--data', 'd'], 'Say what stays: with --keep, with --since, or with both.'],
    [['trim', '--data', 'd', '--since', 'now'], '--since "now" is no time like'],
  ])('%j', async (args, said) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
  });
});

describe('what takes longer than two seconds', () => {
  it('is told on stderr, as lines where there is no terminal', async () => {
    const told = Promise.withResolvers<void>();
    await using server = await TestServer.start(async () => {
      await told.promise;
      return { status: 200, json: [] };
    });
    const { code, stdout, stderr } = await run(['keys', 'list', '--json'], {
      env: { HEADWATER_URL: server.url, HEADWATER_API_KEY: 'hw_admin' },
      progress: true,
      during: (child) => child.stderr!.once('data', () => told.resolve()),
    });
    expect([code, JSON.parse(stdout)]).toEqual([0, []]);
    expect(stderr).toMatch(/^headwater keys list \(\d+ s\)\n$/);
  });
});

describe('an operator is not told what a device should do', () => {
  it.each([
    ['log_unavailable', 'Kafka does not answer: connect ECONNREFUSED 127.0.0.1:9092.'],
    ['store_unavailable', 'The store does not answer.'],
  ] as const)('%s', async (code, message) => {
    await expect(onDataPlane(() => Promise.reject(new TelemetryError(code, message)))).rejects.toThrow(
      `${message} Check that it runs, and that HEADWATER_KAFKA_BROKERS, HEADWATER_REGISTRY_URL and HEADWATER_QUESTDB_URL say where; `,
    );
  });
});

describe('keys', () => {
  const key = {
    id: 'key_1',
    name: 'pump',
    prefix: 'hw_abcde',
    suffix: 'wxyz',
    scopes: ['read', 'write'],
    sources: ['press-7', 'line-a.*'],
    created_ms: Date.UTC(2026, 0, 31),
    last_used_ms: Date.UTC(2026, 1, 1, 12, 34),
    last_used_from: '192.0.2.1',
  };
  const env = (server: TestServer) => ({ HEADWATER_URL: server.url, HEADWATER_API_KEY: 'hw_admin' });

  it('create prints the key alone to stdout', async () => {
    await using server = await TestServer.start(() => ({ status: 201, json: { ...key, api_key: 'hw_new' } }));
    const { code, stdout, stderr } = await run(['keys', 'create', '--name', 'pump', '--scopes', 'write, read,write'], { env: env(server) });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'hw_new\n', stderr: 'This key is shown once: store it now.\n' });
    expect(server.seen).toMatchObject([
      { method: 'POST', path: '/api/api-keys', apiKey: 'hw_admin', body: { name: 'pump', scopes: ['write', 'read'] } },
    ]);
  });

  const bound = ['keys', 'create', '--name', 'pump', '--source', 'press-7', '--source', 'line-a.*'];

  it('create binds a key to sources', async () => {
    await using server = await TestServer.start(() => ({ status: 201, json: { ...key, api_key: 'hw_new' } }));
    expect(await run(bound, { env: env(server) })).toMatchObject({ code: 0, stdout: 'hw_new\n' });
    expect(server.seen).toMatchObject([{ body: { scopes: ['read', 'write'], sources: ['press-7', 'line-a.*'] } }]);
  });

  it('create says so when an older server has made the key for every source, and does not print it', async () => {
    const { sources: _, ...older } = key;
    await using server = await TestServer.start(() => ({ status: 201, json: { ...older, api_key: 'hw_new' } }));
    const said = 'has made the key key_1 for every source: delete it.';
    expect(await run(bound, { env: env(server) })).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(said) });
  });

  it.each([
    [['--source', 'a*b'], '"a*b" is neither a source id nor the beginning of one and *.'],
    [['--source', 'a', '--scopes', 'write,admin'], 'cannot have the scope admin'],
    [Array.from({ length: 17 }, (_, at) => ['--source', `s${at}`]).flat(), 'Give --source at most 16 times'],
  ])('create with %j is refused before the server is asked', async (flags, said) => {
    await using server = await TestServer.start(() => ({ status: 201, json: {} }));
    expect((await run(['keys', 'create', ...flags], { env: env(server) })).stderr).toContain(said);
    expect(server.seen).toEqual([]);
  });

  it('list prints a table, or JSON', async () => {
    await using server = await TestServer.start(() => ({ status: 200, json: [key] }));
    const table = await run(['keys', 'list'], { env: env(server) });
    expect(table.stdout).toBe(
      'ID     KEY            SCOPES      SOURCES           CREATED     LAST USED                   NAME\n' +
        'key_1  hw_abcde…wxyz  read,write  press-7,line-a.*  2026-01-31  2026-02-01 12:34 192.0.2.1  pump\n',
    );
    const json = await run(['keys', 'list', '--json'], { env: env(server) });
    expect(JSON.parse(json.stdout)).toEqual([key]);
  });

  it('delete names the key in the path', async () => {
    await using server = await TestServer.start(() => ({ status: 204 }));
    const { code, stderr } = await run(['keys', 'delete', 'a/b'], { env: env(server) });
    expect([code, stderr]).toEqual([0, 'Deleted a/b.\n']);
    expect(server.seen).toMatchObject([{ method: 'DELETE', path: '/api/api-keys/a%2Fb' }]);
  });

  it.each([
    [
      { status: 401, json: { detail: 'Send a key of this server.' } },
      'The server answered 401: Send a key of this server. Check HEADWATER_API_KEY',
    ],
    [{ status: 403, json: { detail: 'The key lacks the scope admin.' } }, 'The server answered 403: The key lacks the scope admin.'],
    [{ status: 404, json: '<html>' }, 'The server answered 404: It did not say why: is it the address of a Headwater server?'],
    [{ status: 302, headers: { location: 'https://elsewhere/' } }, 'redirects to https://elsewhere/: use that address.'],
    [{ status: 200 }, 'does not answer in JSON'],
  ])('%j is exit code 1', async (answer, said) => {
    await using server = await TestServer.start(() => answer);
    const { code, stdout, stderr } = await run(['keys', 'list'], { env: env(server) });
    expect([code, stdout, server.seen.length]).toEqual([1, '', 1]);
    expect(stderr).toContain(said);
    expect(stderr).not.toContain('hw_admin');
  });
});

describe('init', () => {
  const verified = { status: 200, json: { org_id: 'org_1', scopes: ['read', 'write'] } };

  it('checks the key and writes a file that only the user can read, also over one that others could', async () => {
    await using server = await TestServer.start(() => verified);
    const config = newFolder();
    const file = join(config, 'headwater', 'config.json');
    mkdirSync(join(config, 'headwater'));
    writeFileSync(file, '{}', { mode: 0o644 });
    const { code, stdout, stderr } = await run(['init', '--url', `${server.url}/`], {
      env: { XDG_CONFIG_HOME: config },
      stdin: ' hw_given \n',
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `The key works (scopes: read, write). Wrote ${file}.\n` });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ url: server.url, api_key: 'hw_given' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(server.seen).toMatchObject([{ path: '/api/auth/verify-key', apiKey: 'hw_given' }]);

    await run(['keys', 'list'], { env: { XDG_CONFIG_HOME: config } });
    await run(['keys', 'list'], { env: { XDG_CONFIG_HOME: config, HEADWATER_API_KEY: 'hw_env' } });
    await run(['keys', 'list', '--api-key', 'hw_flag'], { env: { XDG_CONFIG_HOME: config, HEADWATER_API_KEY: 'hw_env' } });
    expect(server.seen.slice(1).map(({ apiKey }) => apiKey)).toEqual(['hw_given', 'hw_env', 'hw_flag']);
  });

  it('writes nothing when the key does not work', async () => {
    await using server = await TestServer.start(() => ({ status: 401, json: { detail: 'No.' } }));
    const config = newFolder();
    const { code } = await run(['init', '--url', server.url], { env: { XDG_CONFIG_HOME: config, HEADWATER_API_KEY: 'hw_wrong' } });
    expect(code).toBe(1);
    expect(() => statSync(join(config, 'headwater'))).toThrow('ENOENT');
  });

  it('a file that is not JSON is said to be so', async () => {
    const config = newFolder();
    mkdirSync(join(config, 'headwater'));
    writeFileSync(join(config, 'headwater', 'config.json'), '{');
    const { code, stderr } = await run(['keys', 'list'], { env: { XDG_CONFIG_HOME: config } });
    expect(code).toBe(1);
    expect(stderr).toContain('config.json cannot be read');
  });
});
