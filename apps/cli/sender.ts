import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Api, ApiFailure } from './api.js';
import type { Batch } from './batches.js';

const compress = promisify(gzip);
const maxFlying = 4;
const firstPauseMs = 500;
const maxPauseMs = 30_000;
const busyStatuses: readonly (number | undefined)[] = [429, 502, 503, 504];

interface Flight {
  readonly batch: Batch;
  readonly landed: Promise<void>;
}

export interface SenderOptions {
  /** For how long one batch is tried again before it is given up. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  /** Is told of each batch that is stored. */
  stored(points: number): void;
  /** Is told why there is a pause. */
  waiting(why: string, pauseMs: number): void;
}

/**
 * Sends batches, a few at a time, and again while the server is busy or away. Batches whose times overlap go one after the other, so that
 * of two values for one point the later line wins. The first batch goes alone: until the server has answered, one try must do.
 */
export class Sender {
  readonly #flying = new Set<Flight>();
  #answered = false;

  constructor(
    private readonly api: Api,
    private readonly options: SenderOptions,
  ) {}

  /** Resolves when the next batch may come. Rejects with what ended this or an earlier batch. */
  async send(batch: Batch): Promise<void> {
    while (this.#blocks(batch)) await Promise.race(Array.from(this.#flying, ({ landed }) => landed));
    const flight: Flight = { batch, landed: this.#deliver(batch).then(() => void this.#flying.delete(flight)) };
    flight.landed.catch(() => undefined);
    this.#flying.add(flight);
  }

  /** Resolves when all that was sent is stored. */
  async drain(): Promise<void> {
    await Promise.all(Array.from(this.#flying, ({ landed }) => landed));
  }

  /** Resolves when nothing is under way any more, however it ended. */
  async settle(): Promise<void> {
    await Promise.allSettled(Array.from(this.#flying, ({ landed }) => landed));
  }

  #blocks(next: Batch): boolean {
    const flying = Array.from(this.#flying, ({ batch }) => batch);
    return (
      flying.length >= (this.#answered ? maxFlying : 1) ||
      flying.some((batch) => batch.firstMs <= next.lastMs && next.firstMs <= batch.lastMs)
    );
  }

  async #deliver(batch: Batch): Promise<void> {
    const { patienceMs, signal } = this.options;
    const body = await compress(batch.body, { level: 1 });
    const endMs = performance.now() + patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        await this.api.request('/ingest', { method: 'POST', body, headers: { 'content-encoding': 'gzip' }, signal });
        this.#answered = true;
        return this.options.stored(batch.points);
      } catch (error) {
        const pauseMs = this.#pauseMs(error, tries);
        if (pauseMs === undefined || performance.now() + pauseMs > endMs) throw error;
        this.options.waiting((error as ApiFailure).message, pauseMs);
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  /** How long to wait before the next try; undefined when none can help. */
  #pauseMs(error: unknown, tries: number): number | undefined {
    if (!(error instanceof ApiFailure)) return undefined;
    if (error.status !== undefined) this.#answered = true;
    else if (!this.#answered) return undefined;
    if (error.status !== undefined && !busyStatuses.includes(error.status)) return undefined;
    return error.retryAfterMs ?? Math.min(maxPauseMs, firstPauseMs * 2 ** tries) * (0.5 + Math.random() / 2);
  }
}
