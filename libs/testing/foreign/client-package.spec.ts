import { execFile } from 'node:child_process';
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { itIf } from '../api/stage.js';
import { importsOf } from '../arrows.js';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { Link } from '../link.js';
import { chromium } from './chromium.js';
import { clientStory, serverOf, upTo, type ClientGround } from './client-story.js';
import { codeUnder, packClient, type PackedClient } from './packed-client.js';
import { commandOf, isHere, runtimes } from './runtimes.js';
import { clientInPage, clientInProcess, teach, type ClientProcess } from './told-client.js';

interface Manifest {
  readonly exports: { readonly '.': Readonly<Record<string, string>> };
  readonly scripts: Readonly<Record<string, string>>;
}

const run = promisify(execFile);
/** What runs the library: the Node of this run, and others. */
const commands = [
  { name: 'the Node of this run', isThere: true, command: () => Promise.resolve([process.execPath]) },
  ...runtimes.map((runtime) => ({ name: runtime.name, isThere: isHere(runtime), command: () => commandOf(runtime) })),
];
/** Downloads included. */
const rowMs = 180_000;

let dir: string;
let packed: PackedClient;
let script: string;
let deployment: EmbeddedDeployment;
let link: Link;
let isAway = false;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-client-'));
  packed = await packClient(dir);
  script = await teach(packed.folder);
  deployment = await EmbeddedDeployment.start();
  link = await Link.to(() => (isAway ? 1 : Number(new URL(deployment.urls.api).port)));
  const server = { HEADWATER_URL: deployment.urls.api, HEADWATER_API_KEY: deployment.keys.own };
  // Deno keeps what it has compiled at home, and is not to ask whether there is a newer one.
  env = { ...process.env, ...server, HOME: dir, FORCE_COLOR: undefined, NO_PROXY: '127.0.0.1', DENO_NO_UPDATE_CHECK: '1' };
});
afterAll(async () => {
  link?.close();
  await deployment?.stop();
  await rm(dir, { recursive: true });
});

const processes: ClientProcess[] = [];
afterEach(async () => {
  isAway = false;
  await Promise.all(processes.splice(0).map((client) => client.kill()));
});

function started(command: readonly string[]): ClientProcess {
  const client = clientInProcess(command, packed.folder, env);
  processes.push(client);
  return client;
}

describe('the package of the client library', () => {
  const modules = globSync('**/*.ts', { cwd: 'libs/client' })
    .map((path) => path.replaceAll('\\', '/').replace(/\.ts$/, ''))
    .filter((path) => !/^dist\/|\.spec$|(^|\/)test-/.test(path));

  it('has of each module the code, its types, and a map that holds its source, and nothing of tests', () => {
    const built = modules.flatMap((module) => ['.js', '.d.ts', '.js.map'].map((ending) => `dist/${module}${ending}`));
    expect([...packed.files.keys()].sort()).toEqual(['LICENSE', 'README.md', 'package.json', ...built].sort());
    for (const module of modules) {
      const { sourcesContent } = JSON.parse(packed.files.get(`dist/${module}.js.map`)!) as { sourcesContent: string[] };
      expect(sourcesContent).toEqual([readFileSync(`libs/client/${module}.ts`, 'utf8')]);
    }
  });

  it('leads to nothing that is not in it, but to modules of Node, and runs nothing when it is installed', () => {
    const manifest = JSON.parse(packed.files.get('package.json')!) as Manifest;
    const code = [...packed.files].filter(([path]) => /\.(js|d\.ts)$/.test(path));
    const missing = code.flatMap(([path, text]) =>
      importsOf(text)
        .filter(({ specifier }) => !specifier.startsWith('node:'))
        .map(({ specifier }) => posix.join(path, '..', path.endsWith('.js') ? specifier : specifier.replace(/\.js$/, '.d.ts')))
        .filter((wanted) => !packed.files.has(wanted)),
    );
    expect(missing).toEqual([]);
    const entries = Object.values(manifest.exports['.']).map((path) => posix.normalize(path));
    expect(entries.filter((path) => !packed.files.has(path))).toEqual([]);
    expect(manifest).not.toHaveProperty('dependencies');
    expect(Object.keys(manifest.scripts).filter((name) => /install|prepare/.test(name))).toEqual([]);
  });

  it.each([
    ['Node', { module: 'nodenext', lib: ['es2023'], types: ['node'], typeRoots: [resolve('node_modules/@types')] }],
    ['a bundler', { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom', 'dom.iterable'], types: [] }],
  ])('has types that the lines of the README fit, for %s', async (_, options) => {
    const wrong = '// @ts-expect-error A value is a number.\ndevice.metric("a", "b");\n';
    writeFileSync(join(packed.folder, 'readme.mts'), [lines('A device in ten lines'), lines('Reading'), wrong].join('\n'));
    const compilerOptions = { target: 'es2023', strict: true, noEmit: true, ...options };
    writeFileSync(join(packed.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['readme.mts'] }));
    const { stdout } = await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', packed.folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  });
});

const lines = (heading: string): string => codeUnder(heading, packed.files.get('README.md')!);

describe('the lines of the README of the client library, on', () => {
  for (const { name, isThere, command } of commands)
    itIf(isThere)(
      name,
      async () => {
        const [program, ...options] = await command();
        const runs = async (code: string): Promise<string> => {
          writeFileSync(join(packed.folder, 'readme.mjs'), code);
          const { stdout, stderr } = await run(program!, [...options, 'readme.mjs'], { cwd: packed.folder, env, timeout: 30_000 });
          expect(stderr).toBe('');
          return stdout;
        };
        const folder = join(dir, `press-7 on ${name}`);
        const device = lines('A device in ten lines');
        expect(device).toContain("'/var/lib/press-7'");
        const start = Date.now();
        expect(await runs(device.replace("'/var/lib/press-7'", JSON.stringify(folder)))).toBe('');
        expect(readdirSync(folder)).toEqual([]);
        await deployment.settle();
        expect(await runs(lines('Reading'))).toMatch(/^press-7 (true|false)$/m);
        const source = new Headwater({ url: deployment.urls.api, apiKey: deployment.keys.own }).source('press-7');
        const points: unknown[] = [];
        for await (const { metric, values } of source.query({ start, interval: 'raw' })) points.push([metric, ...values]);
        expect(points).toEqual([['spindle.temperature', 61.2]]);
        expect(await source.logs({ start })).toEqual([
          { timestamp_ms: expect.any(Number), metric: 'door.opened', value: '{"by":"operator"}', tags: {} },
        ]);
      },
      rowMs,
    );
});

const ground = (): ClientGround => ({
  link,
  key: deployment.keys.own,
  crash: () => deployment.crash(),
  settle: () => deployment.settle(),
});

describe('cut connections, silence, delays and a crash of the server leave every point stored once', () => {
  for (const { name, isThere, command } of commands)
    itIf(isThere)(
      `on ${name}`,
      async () => {
        const client = started(await command());
        await clientStory(name.replaceAll(' ', '-'), client, ground());
        await client.end();
      },
      rowMs,
    );

  itIf(chromium !== undefined)(
    'in a page (needs Chromium)',
    async () => {
      const client = await clientInPage(`http://127.0.0.1:${link.port}/errors/invalid_key`, script);
      try {
        await clientStory('page', client, ground());
      } finally {
        await client.end();
      }
    },
    rowMs,
  );
});

describe('kill -9 leaves what was handed over more than a second before', () => {
  for (const { name, isThere, command } of commands)
    itIf(isThere)(
      `on ${name}`,
      async () => {
        const sourceId = `${name.replaceAll(' ', '-')}-killed`;
        const folder = join(dir, sourceId);
        const where = serverOf(ground());
        const open = async (first: number): Promise<ClientProcess> => {
          const client = started(await command());
          await client.tell('begin', { ...where, first });
          await client.tell('open', { sourceId, folder });
          return client;
        };

        const killed = await open(0);
        await killed.tell('handOver', 50);
        await killed.tell('flush');
        isAway = true;
        link.cut();
        const said: { readonly number: number; readonly atMs: number }[] = [];
        const isLongAgo = (atMs = Infinity): boolean => atMs < performance.now() - 1_100;
        for (; !isLongAgo(said[20]?.atMs); await pause(5))
          said.push({ number: (await killed.tell('handOver', 1)) as number, atMs: performance.now() });
        const killedMs = performance.now();
        await killed.kill();
        isAway = false;
        const safe = said.findLast(({ atMs }) => atMs < killedMs - 1_000)!.number;
        const first = said.at(-1)!.number + 1;

        const again = await open(first);
        await expect(again.tell('open', { sourceId, folder })).rejects.toThrow('the buffer of another device');
        await again.tell('handOver', 50);
        await again.tell('flush');
        await deployment.settle();
        const { numbers, ticks } = (await again.tell('read', sourceId)) as { numbers: number[]; ticks: number };
        const found = new Set(numbers);
        const all = upTo(first + 50);
        expect(numbers).toEqual(all.filter((number) => found.has(number)));
        expect(all.filter((number) => (number <= safe || number >= first) && !found.has(number))).toEqual([]);
        // The process may have been killed after it had kept its last number and before it had kept the two events of that number.
        expect([0, 1, 2]).toContain(2 * numbers.length - ticks);
        // The device is idle and was not closed: it keeps no process alive.
        await again.end();
      },
      rowMs,
    );
});
