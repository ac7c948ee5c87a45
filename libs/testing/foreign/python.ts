import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const examples = resolve('infra/examples');
const requirementsOfExamples = resolve(examples, 'requirements.txt');

/** Whether Python can make an environment here for what the examples need. */
export const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;

/** Runs one of the examples as its first lines say, and resolves to what it prints. */
export async function runExample(name: string, options: readonly string[]): Promise<string> {
  const { stdout } = await run(await interpreter(), [resolve(examples, name), ...options], { timeout: 60_000, maxBuffer: 1 << 24 });
  return stdout;
}

/** Python with these requirements, by default those of the examples, installed at the first call for this version of them. */
export async function interpreter(requirements = requirementsOfExamples): Promise<string> {
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = resolve('node_modules/.cache/headwater', `python-${version}`);
  const python = resolve(folder, 'bin/python');
  const done = resolve(folder, 'installed');
  if (!existsSync(done)) {
    await run('python3', ['-m', 'venv', '--clear', folder]);
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
    mkdirSync(`${done}.part`);
    renameSync(`${done}.part`, done);
  }
  return python;
}
