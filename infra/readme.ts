/**
 * Runs every command of README.md as it stands there, in this checkout, and fails at the first that fails. `npm start` runs in the
 * background on a free port and a data folder of its own; the key that it prints takes the place of `hw_...`. A block marked `offline`
 * runs with the server stopped. Commands that install, check or test are CI's own steps and are only checked to exist.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const readme = readFileSync('README.md', 'utf8');
const blocks = [...readme.matchAll(/^```sh( offline)?\n(.*?)^```/gms)].map(([, offline, text]) => ({ offline: !!offline, text: text! }));
const ownSteps = /^npm (ci && npm start|test|run check)$/gm;

const folder = mkdtempSync(join(tmpdir(), 'headwater-readme-'));
const env = {
  ...process.env,
  HEADWATER_DATA: join(folder, 'data'),
  HEADWATER_PORT: '0',
  HEADWATER_ADMIN_PORT: '0',
  XDG_CONFIG_HOME: join(folder, 'config'),
};

const server = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
let said = '';
server.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
const found = async (pattern: RegExp): Promise<string> => {
  for (const end = Date.now() + 60_000; Date.now() < end; await once(server.stdout, 'data').catch(() => undefined)) {
    const match = pattern.exec(said);
    if (match) return match[0];
  }
  throw new Error(`npm start did not print ${pattern}`);
};

async function stop(): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  process.kill(-server.pid!, 'SIGTERM');
  await ended;
}

try {
  const key = await found(/hw_[0-9A-Za-z]{38}/);
  const address = await found(/http:\/\/(?:localhost|127\.0\.0\.1):\d+/);
  let before = `export HEADWATER_URL=${address}\n`;
  for (const { offline, text } of blocks) {
    const command = text
      .replaceAll(ownSteps, '')
      .replaceAll('hw_...', key)
      .replaceAll('curl -sS', 'curl -sS --fail-with-body')
      .replaceAll('localhost:8080', address.slice('http://'.length))
      .replaceAll('--data data', `--data ${env.HEADWATER_DATA}`);
    if (offline) await stop();
    console.log(text.trimEnd());
    const { status } = spawnSync('bash', ['-euo', 'pipefail', '-c', before + command], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw new Error(`the command ended with ${status}`);
    before += command.match(/^export .*$/gm)?.join('\n') ?? '';
    before += '\n';
  }
} finally {
  await stop();
  rmSync(folder, { recursive: true, force: true });
}
