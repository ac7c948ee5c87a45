import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endWithUs, freePorts } from '../../../infra/servers/index.js';
import { eventually } from '../eventually.js';
import { send } from '../http/send.js';

const main = fileURLToPath(new URL('../../../bundled/embedded.js', import.meta.url));

/** Under load on a busy machine it takes many times as long as alone. */
const readyMs = 120_000;

/** The embedded server as a process, always on the same port and folder. */
export class ServerProcess {
  #child: ChildProcess | undefined;
  #said = '';

  private constructor(
    readonly url: string,
    private readonly env: NodeJS.ProcessEnv,
    private readonly options: readonly string[],
  ) {}

  /** @param options of Node. */
  static async on(dataDir: string, ...options: string[]): Promise<ServerProcess> {
    const [port] = await freePorts(1);
    const env = {
      ...process.env,
      HEADWATER_DATA: dataDir,
      HEADWATER_PORT: `${port}`,
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_ALERT_NETWORKS: '127.0.0.1',
      HEADWATER_LOG_LEVEL: 'warn',
    };
    return new ServerProcess(`http://127.0.0.1:${port}`, env, options);
  }

  /** The first key, which a new server prints. */
  get key(): string | undefined {
    return /hw_[0-9A-Za-z]{38}/.exec(this.#said)?.[0];
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when the server is ready, with the milliseconds that took. */
  async start(): Promise<number> {
    const beganMs = performance.now();
    const child = spawn(process.execPath, [...this.options, main], { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    endWithUs(child);
    this.#child = child;
    this.#said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${this.#said}`);
      const { status, text } = await send(this.url, { path: '/health/ready' });
      if (status !== 200) throw new Error(`the server is not ready: ${text}`);
    }, readyMs);
    return performance.now() - beganMs;
  }

  /** kill -9. Resolves when the process is gone. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Resolves when the process has ended in order. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}
