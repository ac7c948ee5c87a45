import { execFile } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/**
 * Where a package of npm stands beside what it needs, installed at the first call for this version of it. No script of a package is run.
 *
 * @returns the folder `node_modules`
 */
export async function installed(name: string, version: string): Promise<string> {
  const folder = resolve('node_modules/.cache/headwater', `${name.replace('@', '').replace('/', '-')}-${version}`);
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}`;
    await npm(['install', '--ignore-scripts', '--prefix', part, `${name}@${version}`]);
    // Another suite may have been faster.
    if (existsSync(folder)) rmSync(part, { recursive: true });
    else renameSync(part, folder);
  }
  return join(folder, 'node_modules');
}

/** Runs npm, which says nothing unless something is wrong. */
export async function npm(args: readonly string[], cwd?: string): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await promisify(execFile)('npm', [...args, ...quiet], { cwd, shell: process.platform === 'win32' });
}
