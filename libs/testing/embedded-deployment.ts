import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onFolder, type Config, type Running, type StartOptions } from '#runtime';
import type { Deployment, Keys, Urls } from './deployment.js';
import { eventually } from './eventually.js';
import { send } from './http/send.js';
import { makeKeysIn } from './make-keys.js';
import { startEmbedded } from './start-embedded.js';

/** The embedded shape in this process, on a data folder of its own that goes away with it. */
export class EmbeddedDeployment implements Deployment {
  private constructor(
    private readonly dataDir: string,
    readonly keys: Keys,
    private readonly options: Partial<Config> & StartOptions,
    private running: Running,
  ) {}

  /**
   * @param checkpointMs how much of the log a crash may make it read again.
   * @param settings that are not as usual.
   */
  static async start(checkpointMs = 200, settings: Partial<Config> & StartOptions = {}): Promise<EmbeddedDeployment> {
    const dataDir = await mkdtemp(join(tmpdir(), 'headwater-'));
    const keys = await makeKeys(dataDir);
    const options = { ...settings, checkpointMs };
    return new EmbeddedDeployment(dataDir, keys, options, await startEmbedded({ ...options, dataDir }));
  }

  get urls(): Urls {
    const { url } = this.running;
    return { api: url, ingest: url, app: url };
  }

  async crash(): Promise<void> {
    await this.running.crash();
    await this.#start();
  }

  async restart(): Promise<void> {
    await this.running.stop();
    await this.#start();
  }

  settle(): Promise<void> {
    return eventually(async () => {
      const text = await this.metrics();
      const lags = [...text.matchAll(/^headwater_group_lag_records\{.*\} (\d+)$/gm)].map(([, lag]) => Number(lag));
      if (lags.length === 0 || lags.some((lag) => lag > 0))
        throw new Error(`the consumer groups lag by ${lags.join(', ') || 'nobody knows what'}`);
    });
  }

  /** Rejects when the projections that are about to go differ from the log. */
  async rebuild(): Promise<void> {
    await this.running.stop();
    const { projectorsOf } = await import('../../apps/processors/projectors-of.js');
    const { differences, first } = await onFolder(({ verify }) => verify(this.dataDir, projectorsOf));
    if (differences > 0) throw new Error(`verify finds ${differences} differences: ${JSON.stringify(first.slice(0, 5))}`);
    await onFolder(({ rebuild }) => rebuild(this.dataDir, projectorsOf));
    await this.#start();
  }

  /** What its operator sees. */
  async metrics(): Promise<string> {
    return (await send(this.running.adminUrl, { path: '/metrics' })).text;
  }

  async stop(): Promise<void> {
    await this.running.stop();
    await rm(this.dataDir, { recursive: true });
  }

  async #start(): Promise<void> {
    this.running = await startEmbedded({ ...this.options, dataDir: this.dataDir });
  }
}

/** Makes three organizations in a data folder that no server has open. */
export async function makeKeys(dataDir: string): Promise<Keys & { readonly unpaid: string }> {
  const storage = await onFolder(({ openStorage }) => openStorage(dataDir));
  const keys = await makeKeysIn(storage.log);
  await storage.close();
  return keys;
}
