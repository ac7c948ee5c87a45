import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const cache = join(root, 'node_modules/.cache/headwater');

/** What Maven fetches: `infra/servers/<name>.pom.xml` says from which artifacts. */
interface Artifact {
  readonly name: string;
  readonly version: string;
  /** Of Maven's dependency plugin: what the pom depends on, or what it lists for the plugin, as it is or unpacked. */
  readonly goal: 'copy-dependencies' | 'copy' | 'unpack';
}

/** The folder with an artifact's files, fetched when it is not there. Rejects with a sentence when Java or Maven is missing. */
export async function fetched({ name, version, goal }: Artifact): Promise<string> {
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  await demand('mvn', ['-v'], 'Maven is missing: install it (apt install maven, brew install maven)');
  process.stderr.write(`fetching ${name} ${version} with Maven, once\n`);
  mkdirSync(cache, { recursive: true });
  const half = mkdtempSync(join(cache, `${name}-`));
  try {
    const pom = join(root, `infra/servers/${name}.pom.xml`);
    const options = [`-DoutputDirectory=${half}`, '-DincludeScope=runtime'];
    await demand('mvn', ['-B', '-q', '-f', pom, `dependency:${goal}`, ...options], `Maven cannot fetch ${name} ${version}`);
    settle(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  return folder;
}

/** The java to run: that of JAVA_HOME, else the one on the path. Rejects with a sentence when it is missing or too old. */
export async function java(): Promise<string> {
  const home = process.env['JAVA_HOME'];
  const command = home ? join(home, 'bin/java') : 'java';
  const said = await demand(command, ['-version'], 'Java is missing: install Java 17 or newer, or set JAVA_HOME');
  const major = Number(/version "(\d+)/.exec(said)?.[1]);
  if (!(major >= 17)) throw new Error(`Java ${major} is too old: install Java 17 or newer, or set JAVA_HOME`);
  return command;
}

/** Another process may have fetched the same meanwhile: its files are as good. */
function settle(half: string, folder: string): void {
  try {
    renameSync(half, folder);
  } catch (cause) {
    if (!existsSync(folder)) throw cause;
  }
}

async function demand(command: string, args: readonly string[], refusal: string): Promise<string> {
  try {
    const { stdout, stderr } = await run(command, args, { maxBuffer: 16 << 20 });
    return stdout + stderr;
  } catch (cause) {
    const said = (cause as { stdout?: string }).stdout?.trim();
    throw new Error(said ? `${refusal}\n${said}` : refusal, { cause });
  }
}
