import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endWithUs, freePorts } from '../servers/index.js';
import type { Reading } from './floor.js';
import { cpuSOf, memoryMbOf, peakMemoryMbOf } from './processes.js';

/** Where requests go, and the key that they carry. */
export interface Target {
  readonly url: string;
  readonly key: string;
}

/** Of a server, beyond those that all of the bench have. */
export type Settings = Readonly<Record<string, string>>;

const here = (file: string): string => new URL(file, import.meta.url).pathname;

/** Where the server that writes a record per point writes. */
export const rowTopic = 'bench.rows';

/** A server under test, in a process and a data folder of its own. */
export class ServerProcess implements Target {
  key = '';
  #child: ChildProcess | undefined;

  private constructor(
    private readonly command: readonly string[],
    readonly folder: string,
    private readonly port: number,
    private readonly settings: Settings,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** @param preload a file of this folder that is loaded before the server. */
  static async embedded(preload?: string, settings?: Settings): Promise<ServerProcess> {
    const before = preload === undefined ? [] : ['--import', here(preload)];
    const server = await ServerProcess.#started('bench', () => [...before, here('../../bundled/embedded.js')], settings);
    // The first key is printed once the service is ready, perhaps after it has said so to others, and counts a moment later.
    await until(async () => server.key !== '' && (await get(server, '/v1/sources')).ok, 30_000);
    return server;
  }

  /** See `floor.ts`. */
  static floor(reading: Reading = 'scan'): Promise<ServerProcess> {
    return ServerProcess.#started('floor', (folder, port) => [here('./floor.js'), folder, reading, `${port}`]);
  }

  /** See `live-floor.ts`. */
  static liveFloor(): Promise<ServerProcess> {
    return ServerProcess.#started('live-floor', (folder, port) => [here('./live-floor.js'), folder, `${port}`]);
  }

  /** One record per point: see `row-server.ts`. */
  static rows(brokers: string, registryUrl: string): Promise<ServerProcess> {
    return ServerProcess.#started('rows', (_, port) => [
      '--no-warnings',
      here('./row-server.js'),
      brokers,
      registryUrl,
      rowTopic,
      `${port}`,
    ]);
  }

  static async #started(
    name: string,
    command: (folder: string, port: number) => readonly string[],
    settings: Settings = {},
  ): Promise<ServerProcess> {
    const folder = ownFolder(name);
    const [port] = (await freePorts(1)) as [number];
    const server = new ServerProcess(command(folder, port), folder, port, settings);
    await server.start();
    return server;
  }

  /**
   * Starts the process on its folder and resolves with the seconds until it is ready.
   * @param options of Node.
   */
  async start(options: readonly string[] = []): Promise<number> {
    const begun = performance.now();
    const env = {
      ...process.env,
      HEADWATER_DATA: this.dataFolder,
      HEADWATER_PORT: String(this.port),
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_LOG_LEVEL: 'warn',
      HEADWATER_ALERT_NETWORKS: '127.0.0.1',
      // The same on every machine, and above what any figure sends.
      HEADWATER_MAX_SOURCES: '10000000',
      HEADWATER_MAX_SERIES: '10000000',
      HEADWATER_MAX_TAG_SETS: '10000000',
      ...this.settings,
    };
    this.#child = spawn(process.execPath, [...options, ...this.command], { env, stdio: ['ignore', 'pipe', 'inherit'] });
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

  get dataFolder(): string {
    return join(this.folder, 'data');
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  /** User and system time of the process so far, seconds. */
  cpuS(): number {
    return cpuSOf(this.pid);
  }

  peakMemoryMb(): number {
    return peakMemoryMbOf(this.pid);
  }

  /** What of the process is in memory now. */
  memoryMb(): number {
    return memoryMbOf(this.pid);
  }

  /** Bytes of each file in the data folder, by name. */
  diskBytes(): Readonly<Record<string, number>> {
    const files = readdirSync(this.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes: Record<string, number> = {};
    for (const { name, parentPath } of files) {
      // The files of the log are named by offsets: those of one kind count as one.
      const known = name.replace(/^\d+\./, 'log/*.');
      bytes[known] = (bytes[known] ?? 0) + statSync(join(parentPath, name)).size;
    }
    return bytes;
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
    removeFolder(this.folder);
  }
}

/** What a command of the CLI prints. */
export async function headwater(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, ['--no-warnings', here('../../bundled/cli.js'), ...args])).stdout.trim();
}

/** A GET with the server's key. */
export function get({ url, key }: Target, path: string): Promise<Response> {
  return fetch(url + path, { headers: { 'x-api-key': key } });
}

/** Sends points of one source. Rejects when they are refused. */
export async function ingest({ url, key }: Target, sourceId: string, points: readonly object[]): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/ingest`, { method: 'POST', headers, body: JSON.stringify({ source_id: sourceId, points }) });
  if (!answer.ok) throw new Error(`points of the bench were refused: ${await answer.text()}`);
}

/** Polls until the condition holds. @throws Error at the deadline. */
export async function until(condition: () => Promise<boolean>, deadlineMs: number, everyMs = 20): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) throw new Error('gave up waiting');
    await pause(everyMs);
  }
}

const folders = new Set<string>();
process.once('exit', () => {
  for (const folder of folders) removeFolder(folder);
});

/** A temporary folder that goes away with this process, at the latest. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `headwater-${name}-`));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
