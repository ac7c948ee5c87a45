import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { java } from './maven.js';

interface JavaServerOptions {
  /** As messages call it. */
  readonly name: string;
  /** After `java`. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folder in which it runs: what it writes beside its data goes there. */
  readonly folder: string;
  /** Whether it serves; a rejection is a no. After the signal nobody waits for it. */
  readonly serves: (signal: AbortSignal) => Promise<boolean>;
}

const pollMs = 50;
const probeMs = 5000;
const readyMs = 120_000;
const stopMs = 20_000;
const keptLines = 40;
const shownLines = 10;

/** Flags that make a small server start fast. */
export const smallHeap = (mb: number): readonly string[] => [`-Xmx${mb}m`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/** A server on the JVM, as a process of its own that ends with this one, however this one ends. */
export class JavaServer {
  #child: ChildProcess | undefined;
  #said: string[] = [];
  /** The process that serves, until it is stopped or killed. */
  #serving: ChildProcess | undefined;
  readonly #ended = Promise.withResolvers<string>();

  private constructor(private readonly options: JavaServerOptions) {}

  /** Resolves when it serves. Rejects with its last lines of output when it does not. */
  static async start(options: JavaServerOptions): Promise<JavaServer> {
    const server = new JavaServer(options);
    await server.start();
    return server;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when it has ended without being stopped or killed here, to a sentence with its exit code and its last lines. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** Starts it again, after `stop` or `kill`, with the same folder and ports. */
  async start(): Promise<void> {
    const { args, env, folder, name } = this.options;
    // A group of its own: Ctrl-C on the terminal is for us, and we stop it in order.
    const child = spawn(await java(), [...args], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    this.#said = [];
    for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => this.#hear(chunk.toString()));
    endWithUs(child);
    // After all that it has said.
    child.once('close', (code, signal) => this.#end(child, code ?? signal));
    await this.#untilItServes(child).catch(async (cause: Error) => {
      await this.kill('SIGKILL');
      throw new Error(`${name} ${cause.message}\n${this.#said.join('\n')}`, { cause });
    });
    this.#serving = child;
    if (child.exitCode !== null || child.signalCode !== null) this.#end(child, child.exitCode ?? child.signalCode);
  }

  /** Resolves when it has ended in order. */
  async stop(): Promise<void> {
    this.#serving = undefined;
    const child = this.#running();
    if (!child) return;
    const slow = new AbortController();
    child.kill('SIGTERM');
    const ended = once(child, 'exit').then(() => slow.abort());
    await setTimeout(stopMs, undefined, { signal: slow.signal, ref: false }).then(
      () => child.kill('SIGKILL'),
      () => undefined,
    );
    await ended;
  }

  /** Sends a signal, and resolves when the process has ended if it was SIGKILL. */
  async kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (signal === 'SIGKILL') this.#serving = undefined;
    const child = this.#running();
    if (!child) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    if (signal === 'SIGKILL') await ended;
  }

  #running(): ChildProcess | undefined {
    return this.#child?.exitCode === null && this.#child.signalCode === null ? this.#child : undefined;
  }

  #end(child: ChildProcess, how: number | string | null): void {
    if (child !== this.#serving) return;
    const last = this.#said.slice(-shownLines).map((line) => `\n  ${line}`);
    this.#ended.resolve(
      `${this.options.name} has ended by itself (${typeof how === 'number' ? `exit code ${how}` : how}). It said last:${last.join('')}`,
    );
  }

  #hear(text: string): void {
    this.#said = [...this.#said, ...text.trimEnd().split('\n')].slice(-keptLines);
  }

  async #untilItServes(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + readyMs;
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    while (!(await this.options.serves(AbortSignal.timeout(probeMs)).catch(() => false))) {
      if (failure) throw new Error(`cannot be started: ${failure.message}`);
      if (!this.#running()) throw new Error('ended before it served');
      if (performance.now() > deadline) throw new Error(`did not serve within ${readyMs / 1000} s`);
      await setTimeout(pollMs);
    }
  }
}

/** Ends a process when this one has ended, however: a shell waits for the end of our pipe, which comes even when we are killed. */
export function endWithUs(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watcher = spawn('sh', ['-c', `read -r _; kill -9 ${child.pid}`], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  watcher.unref();
  watcher.once('error', () => undefined);
  child.once('exit', () => watcher.kill('SIGKILL'));
}
