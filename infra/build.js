/**
 * Compiles the project and bundles its apps, unless dist is what these sources give. Plain JavaScript without packages: it is what runs before anything is
 * compiled, on Node 20 too, and where the compiler was left out (`npm ci --omit=dev`) it starts what was built before.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const stamp = join(root, 'dist/.built');
const compiler = join(root, 'node_modules/typescript');

const sources = ['apps', 'libs', 'infra']
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path)))
  // The client library has a build of its own, which nothing here is made of.
  .filter((path) => path.endsWith('.ts') && !path.startsWith(join('libs/client/dist/')))
  .sort((a, b) => (a < b ? -1 : 1));

/** By content: a time of change says too little where sources were unpacked or copied over older ones. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const path of ['tsconfig.json', 'package-lock.json', 'infra/bundle.js', ...sources])
    hash.update(`${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

const wanted = fingerprint();
const isBuilt = existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
if (!isBuilt && !existsSync(compiler)) {
  console.error(
    'headwater: dist was not built from these sources, and the compiler is not installed: run `npm ci && npm run build` first.',
  );
  process.exitCode = 1;
} else if (!isBuilt) {
  console.error('compiling, once');
  const { status } = spawnSync(process.execPath, [join(compiler, 'bin/tsc'), '--project', root], { stdio: 'inherit' });
  if (status === 0) {
    const { bundle } = await import('./bundle.js');
    await bundle(root);
    // Of what was there before the compiler began, so that what changed meanwhile is compiled the next time.
    writeFileSync(stamp, wanted);
  }
  process.exitCode = status ?? 1;
}
