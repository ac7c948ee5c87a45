import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const main = fileURLToPath(new URL('../../bundled/cli.js', import.meta.url));
const death = new URL('../../libs/testing/crash/death.js', import.meta.url).href;

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code, or the name of the signal that ended it. */
  readonly code: number | string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  /** Whether to give the lines that say how long a command has taken: their number depends on the machine. */
  readonly progress?: boolean;
  /** The greatest size of a file, in blocks of 512 bytes: a write beyond it fails as on a full disk. */
  readonly blocks?: number;
  /** The call that changes files at which the process is killed; see libs/testing/crash/death.ts. */
  readonly deathAt?: number;
  /** Is given the process once it runs. */
  readonly during?: (child: ChildProcess) => void;
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'headwater-cli-'));

/** Runs the built command as a user does, with no settings of the user who runs the tests. */
export async function run(
  args: readonly string[],
  { env = {}, stdin = '', progress = false, blocks, deathAt, during }: RunOptions = {},
): Promise<Ran> {
  const command = [process.execPath, ...(deathAt === undefined ? [] : ['--import', death]), main, ...args];
  const [file, ...rest] = blocks === undefined ? command : ['sh', '-c', `ulimit -S -f ${blocks}; exec "$0" "$@"`, ...command];
  const its = { PATH: process.env['PATH'], HOME: '/nowhere', ...(deathAt !== undefined && { DEATH_AT: `${deathAt}` }), ...env };
  const child = spawn(file!, rest, { env: its });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  during?.(child);
  const ended = new Promise<number | string>((resolve) => child.on('close', (code, signal) => resolve(code ?? signal!)));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr: progress ? stderr : withoutProgress(stderr), code };
}

export const withoutProgress = (stderr: string): string => stderr.replaceAll(/^.* \(\d+ s\)\n/gm, '');
