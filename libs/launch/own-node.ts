import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isatty } from 'node:tty';

const neededMajor = 24;
/** Set for the Node that was handed over to, which never hands over again, whatever it takes itself for. */
const handedOver = 'HEADWATER_HANDED_OVER';
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const majorOf = (version: string): number => Number(version.replace('v', '').split('.')[0]);

/**
 * Runs `start` on Node 24 or newer. An older Node starts the same file again on the Node that came with the project, passes signals on and
 * ends as it ends; when there is none it says so in one sentence and exits 1. This file and what imports it statically must load on Node 20,
 * so `start` imports the rest.
 */
export async function onOwnNode(start: () => Promise<unknown>): Promise<void> {
  if (majorOf(process.version) >= neededMajor) await start();
  else handOver(process.env[handedOver] === undefined ? ownNode() : undefined);
}

/** Path of the Node that npm installed with the project, if it is new enough. */
function ownNode(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json');
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return majorOf(version) >= neededMajor ? join(manifest, '..', 'bin', 'node') : undefined;
  } catch {
    return undefined;
  }
}

function handOver(node: string | undefined): void {
  if (node === undefined) return refuse();
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [handedOver]: '1' },
  });
  for (const signal of forwarded) process.on(signal, () => (signal === 'SIGINT' && hasTerminal() ? undefined : child.kill(signal)));
  child.on('error', refuse);
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1;
    if (!signal) return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** A terminal gives Ctrl-C to both processes; a second one would say "at once". */
const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor));

function refuse(): void {
  console.error(
    `Headwater needs Node ${neededMajor} and this is ${process.version}: run \`npm ci\` in its folder, which brings one, or install Node ${neededMajor}.`,
  );
  process.exitCode = 1;
}
