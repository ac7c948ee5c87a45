import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithUs, freePorts } from '../servers/index.js';

const here = (file: string): string => new URL(file, import.meta.url).pathname;

/** A server under test, in a process and a data folder of its own. */
export class ServerProcess {
  key = '';
  #child: ChildProcess | undefined;

  private constructor(
    private readonly command: readonly string[],
    readonly folder: string,
    private readonly port: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async embedded(): Promise<ServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'headwater-bench-'));
    const [port] = await freePorts(1);
    const server = new ServerProcess([here('../../apps/embedded/main.js')], folder, port!);
    await server.start();
    return server;
  }

  static async floor(mode: 'parse' | 'collect'): Promise<ServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'headwater-floor-'));
    const [port] = await freePorts(1);
    const server = new ServerProcess([here('./floor.js'), folder, mode, String(port)], folder, port!);
    await server.start();
    return server;
  }

  /** Starts the process on its folder and resolves with the seconds until it answers. */
  async start(): Promise<number> {
    const begun = performance.now();
    const env = {
      ...process.env,
      HEADWATER_DATA: join(this.folder, 'data'),
      HEADWATER_PORT: String(this.port),
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_LOG_LEVEL: 'warn',
    };
    this.#child = spawn(process.execPath, [...this.command], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    endWithUs(this.#child);
    let said = '';
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      if (said.length > 100_000) return;
      said += chunk.toString();
      this.key ||= /hw_[0-9A-Za-z]{38}/.exec(said)?.[0] ?? '';
    });
    await until(async () => (await get(this, '/health/ready')).ok, 30_000);
    return (performance.now() - begun) / 1e3;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  /** User and system time of the process so far, seconds. */
  cpuS(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  peakMemoryMb(): number {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))![1]) / 1024;
  }

  /** Bytes of each file in the data folder, by name. */
  diskBytes(): Readonly<Record<string, number>> {
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Object.fromEntries(files.map((file) => [file.name, statSync(join(file.parentPath, file.name)).size]));
  }

  /** Ends the process as an operator would; does nothing when it has ended. */
  async stop(): Promise<void> {
    const child = this.#child!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A GET with the server's key. */
export function get(server: ServerProcess, path: string): Promise<Response> {
  return fetch(server.url + path, { headers: { 'x-api-key': server.key } });
}

/** Polls until the condition holds. @throws Error at the deadline. */
export async function until(condition: () => Promise<boolean>, deadlineMs: number): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) throw new Error('gave up waiting');
    await pause(20);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
