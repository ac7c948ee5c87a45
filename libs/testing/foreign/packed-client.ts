import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { npm } from './npm-package.js';

/** The client library as people get it. */
export interface PackedClient {
  /** Was empty before it was installed there. */
  readonly folder: string;
  /** What stands in the package, by its path there. */
  readonly files: ReadonlyMap<string, string>;
}

/** Packs the library in a copy of its source, where no earlier build can have left anything, and installs that. */
export async function packClient(dir: string): Promise<PackedClient> {
  const checkout = join(dir, 'checkout');
  const source = join(checkout, 'libs/client');
  cpSync('libs/client', source, { recursive: true, filter: (path) => !['dist', 'node_modules'].includes(basename(path)) });
  cpSync('tsconfig.json', join(checkout, 'tsconfig.json'));
  symlinkSync(resolve('node_modules'), join(checkout, 'node_modules'), 'junction');
  await npm(['pack', '--pack-destination', dir], source);

  const folder = join(dir, 'installed');
  mkdirSync(folder);
  const [tarball] = globSync('*.tgz', { cwd: dir });
  await npm(['install', '--offline', '--prefix', folder, join(dir, tarball!)], folder);
  const root = join(folder, 'node_modules/headwater-client');
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(root, path)).isFile());
  return { folder, files: new Map(paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, path), 'utf8')])) };
}

/** The first code under a heading of a text in Markdown. */
export function codeUnder(heading: string, text: string): string {
  const section = text.split(/^## /m).find((one) => one.startsWith(`${heading}\n`));
  return /^```js\n([^]*?)^```$/m.exec(section ?? '')![1]!;
}
