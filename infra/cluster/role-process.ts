import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { entryOf, type Role } from '#runtime';
import { endWithUs } from '../servers/index.js';

const dist = fileURLToPath(new URL('../../', import.meta.url));
const readyMs = 120_000;
const probeMs = 5000;
const againMs = 1000;

interface RoleOptions {
  readonly role: Role;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Hears what it says, a line at a time. */
  readonly heard: (line: string) => void;
}

/** A role as a process of its own, which is started again when it ends by itself. */
export class RoleProcess {
  readonly url: string;
  #child: ChildProcess | undefined;
  #stopping = false;

  constructor(private readonly options: RoleOptions) {
    this.url = `http://127.0.0.1:${options.port}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    const { role, port, environment } = this.options;
    const env = { ...process.env, HEADWATER_HOST: '127.0.0.1', HEADWATER_PORT: `${port}`, HEADWATER_ADMIN_PORT: '0', ...environment };
    // A group of its own: Ctrl-C on the terminal is for us, and we stop it in order.
    const child = spawn(process.execPath, [dist + entryOf(role)], { env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    this.#child = child;
    this.#stopping = false;
    endWithUs(child);
    createInterface(child.stderr).on('line', (line) => this.options.heard(line));
    child.once('exit', (code, signal) => void this.#ended(child, String(code ?? signal)));
  }

  /** Resolves when requests may be sent to it. */
  async ready(): Promise<void> {
    for (const deadline = performance.now() + readyMs; ; await pause(50)) {
      const answer = await fetch(`${this.url}/health/ready`, { signal: AbortSignal.timeout(probeMs) }).catch(() => undefined);
      if (answer?.ok) return;
      if (performance.now() > deadline)
        throw new Error(`the role ${this.options.role} is not ready: ${(await answer?.text()) ?? 'no answer'}`);
    }
  }

  /** Resolves when it has ended: in order, or where it stands. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async #ended(child: ChildProcess, how: string): Promise<void> {
    if (this.#stopping || child !== this.#child) return;
    this.options.heard(`ended by itself (${how}): starting it again`);
    await pause(againMs);
    if (!this.#stopping && child === this.#child) this.start();
  }
}
