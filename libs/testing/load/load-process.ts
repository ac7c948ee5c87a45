import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { endWithUs } from '../../../infra/servers/index.js';
import { World } from '../exactness/world.js';
import { readLedger, type Acknowledged } from './ledger.js';
import { loadBody, type Load } from './load.js';

/** What became of the bodies that were sent. */
export interface LoadReport {
  /** How many requests got which status, or ended without one in which way. */
  readonly answers: Readonly<Record<string, number>>;
  /** The longest that a request took. */
  readonly longestMs: number;
}

const main = fileURLToPath(new URL('load-client.js', import.meta.url));

/** Devices that send, in a process of their own with a ledger of what was acknowledged. */
export class LoadProcess {
  readonly #child: ChildProcess;
  readonly #said: Promise<string>;

  constructor(
    readonly load: Load,
    url: string,
    key: string,
    private readonly ledgerPath: string,
  ) {
    const child = spawn(process.execPath, [main, url, key, ledgerPath, JSON.stringify(load)], { stdio: ['ignore', 'pipe', 'inherit'] });
    endWithUs(child);
    this.#said = text(child.stdout);
    this.#child = child;
  }

  /** Every body that was acknowledged so far, in that order. */
  acknowledged(): readonly Acknowledged[] {
    return existsSync(this.ledgerPath) ? readLedger(this.ledgerPath) : [];
  }

  /** What the service has to know after what was acknowledged so far. */
  world(): World {
    const world = new World();
    for (const { device, at } of this.acknowledged()) world.accept(loadBody(this.load, device, at));
    return world;
  }

  /** Resolves when every body that was begun is acknowledged. Rejects when one was answered in a way that it should not be. */
  async stop(): Promise<LoadReport> {
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    if (this.#child.exitCode !== 0) throw new Error(`the load client ended with ${this.#child.exitCode ?? this.#child.signalCode}`);
    return JSON.parse(await this.#said) as LoadReport;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
