/**
 * Runs every command of README.md as it stands there, in this checkout, and fails at the first that fails. The key that a server prints
 * takes the place of `hw_...`, and the link that it prints that of `http://localhost:8080/join/...`; folders and addresses are those of this run. Words after `sh` say where a block belongs:
 *
 * - none: `npm start` runs in the background; `offline`: it is stopped;
 * - `cluster`: `npm run cluster` runs in the background, and has answered the blocks without a word too: the shapes behave alike. Nothing
 *   of it listens once it is stopped;
 * - `docker`, `python`: left out, and told at the end, where there is none.
 *
 * Commands that install, check or test are CI's own steps and are only checked to exist.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, isFree } from './servers/index.js';

interface Block {
  readonly tags: readonly string[];
  readonly text: string;
}

const readme = readFileSync('README.md', 'utf8');
const blocks = [...readme.matchAll(/^```sh([^\n]*)\n(.*?)^```/gms)].map(([, tags, text]): Block => ({ tags: words(tags!), text: text! }));
const ownSteps = /^npm (ci && npm start|test|run check|run cluster)$/gm;
const tools: Readonly<Record<string, readonly [command: string, ...options: string[]]>> = {
  docker: ['docker', 'info'],
  python: ['python3', '-c', 'import ensurepip, venv'],
};
const runs = ([command, ...options]: readonly [string, ...string[]]): boolean => spawnSync(command, options).status === 0;
const missing = Object.keys(tools).filter((tool) => !runs(tools[tool]!));
const canRun = ({ tags }: Block): boolean => !tags.some((tag) => missing.includes(tag));
const hasRun = new Set<Block>();
const folder = mkdtempSync(join(tmpdir(), 'headwater-readme-'));

function words(text: string): string[] {
  return text.split(' ').filter(Boolean);
}

/** A server in the background, and a shell that remembers what it has exported. */
class Session {
  readonly #server;
  readonly #env;
  #said = '';
  #before = '';
  #key = '';
  #address = '';
  #join = '';

  constructor(
    script: readonly string[],
    private readonly folders: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>>,
  ) {
    this.#env = {
      ...process.env,
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_ALERT_NETWORKS: '127.0.0.1',
      XDG_CONFIG_HOME: join(folder, 'config'),
      ...env,
    };
    this.#server = spawn('npm', script, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    for (const stream of [this.#server.stdout, this.#server.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        if (stream === this.#server.stderr) process.stderr.write(chunk);
        this.#said += chunk.toString();
        this.#server.emit('said');
      });
    }
    this.#server.once('close', () => this.#server.emit('said'));
  }

  async ready(): Promise<void> {
    this.#key = await this.#found(/hw_[0-9A-Za-z]{38}/);
    this.#address = await this.#found(/http:\/\/(?:localhost|127\.0\.0\.1):\d+/);
    this.#join = await this.#found(/http:\/\/\S+\/join\/[\w-]{43}/);
    await this.#found(/listening on|ready at/);
    this.#before = `export HEADWATER_URL=${this.#address}\n`;
  }

  async #found(pattern: RegExp): Promise<string> {
    for (const signal = AbortSignal.timeout(240_000); ; await once(this.#server, 'said', { signal })) {
      const match = pattern.exec(this.#said);
      if (match) return match[0];
      if (this.#hasEnded) throw new Error(`the server has ended and did not print ${pattern}:\n${this.#said}`);
    }
  }

  run(block: Block): void {
    const { text } = block;
    hasRun.add(block);
    let command = text
      .replaceAll(ownSteps, '')
      .replaceAll('hw_...', this.#key)
      .replaceAll('http://localhost:8080/join/...', this.#join)
      .replaceAll('curl -sS', 'curl -sS --fail-with-body --retry 5')
      .replaceAll('localhost:8080', this.#address.slice('http://'.length));
    for (const [shown, ours] of Object.entries(this.folders)) command = command.replaceAll(shown, ours);
    console.log(text.trimEnd());
    const script = this.#before + command;
    const { status } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], { env: this.#env, stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw new Error(`the command ended with ${status}`);
    this.#before += command.match(/^(export|\.) .*$/gm)?.join('\n') ?? '';
    this.#before += '\n';
  }

  get #hasEnded(): boolean {
    return this.#server.exitCode !== null || this.#server.signalCode !== null;
  }

  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = once(this.#server, 'close');
    process.kill(-this.#server.pid!, 'SIGTERM');
    await ended;
  }
}

async function embedded(): Promise<void> {
  const data = join(folder, 'data');
  const folders = { '--data data': `--data ${data}`, '/mnt/backup': join(folder, 'backup') };
  const session = new Session(['start'], folders, { HEADWATER_DATA: data, HEADWATER_PORT: '0' });
  try {
    await session.ready();
    for (const block of blocks.filter(({ tags: [tag = 'offline'] }) => tag === 'offline')) {
      if (block.tags.length > 0) await session.stop();
      session.run(block);
    }
  } finally {
    await session.stop();
  }
}

async function cluster(): Promise<void> {
  const data = join(folder, 'cluster');
  const folders = { 'data/cluster': data, 'data/python': join(folder, 'python') };
  const [port] = (await freePorts(1)) as [number];
  const session = new Session(['run', 'cluster'], folders, { HEADWATER_DATA: data, HEADWATER_PORT: `${port}` });
  try {
    await session.ready();
    for (const block of blocks) {
      if (block.tags.length === 0 || (block.tags.includes('cluster') && canRun(block))) session.run(block);
    }
    const environment = readFileSync(join(data, 'environment'), 'utf8');
    const theirs = Array.from(environment.matchAll(/(?:127\.0\.0\.1|localhost):(\d+)/g), ([, theirPort]) => Number(theirPort));
    if (theirs.length < 4) throw new Error(`the environment of the cluster names ${theirs.length} ports`);
    await session.stop();
    for (const one of [port, ...theirs])
      if (!(await isFree(one))) throw new Error(`port ${one} is still taken after the cluster has stopped`);
  } finally {
    await session.stop();
  }
}

try {
  await embedded();
  await cluster();
  const left = blocks.find((block) => canRun(block) && !hasRun.has(block));
  if (left || blocks.length === 0) throw new Error(`nobody has run ${left?.text ?? 'anything'}`);
  for (const tool of missing) console.log(`not run, for there is no ${tool}: the blocks marked \`${tool}\``);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
