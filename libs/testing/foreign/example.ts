import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { endWithUs } from '../../../infra/servers/index.js';
import { until } from '../until.js';

/** One of the examples as a process. */
export class Example {
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param env beside that of this process. */
  constructor(
    private readonly name: string,
    options: readonly string[],
    env: Readonly<Record<string, string>>,
    interpreter = process.execPath,
  ) {
    const child = spawn(interpreter, [resolve('infra/examples', name), ...options], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    endWithUs(child);
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#child = child;
    this.#ended = once(child, 'close');
  }

  /** What it has printed that looks like this. */
  async says(pattern: RegExp): Promise<string> {
    await until(`${this.name} says ${pattern}: ${this.stdout}${this.stderr}`, () => pattern.test(this.stdout));
    return pattern.exec(this.stdout)![0];
  }

  /** Resolves when it has ended by itself, with what it has printed. Rejects when it has failed. */
  async printed(): Promise<string> {
    await this.#ended;
    if (this.#child.exitCode !== 0) throw new Error(`${this.name} ended with ${this.#child.exitCode}: ${this.stderr}`);
    return this.stdout;
  }

  /** Resolves when it has ended after SIGTERM, with the exit code, or the signal that it has not heard. */
  async stop(): Promise<number | string | null> {
    this.#child.kill();
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode;
  }
}
