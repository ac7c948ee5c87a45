import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Batch } from './batches.js';
import type { Connection } from './connection.js';

const compress = promisify(gzip);
const maxFlying = 4;

interface Flight {
  readonly batch: Batch;
  readonly landed: Promise<void>;
}

/**
 * Sends batches, a few at a time; the first one alone, until the server has answered. Batches whose times overlap go one after the other,
 * so that of two values for one point the later line wins.
 */
export class Sender {
  readonly #flying = new Set<Flight>();
  #storedPoints = 0;

  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
  ) {}

  /** Points that the server has acknowledged. */
  get storedPoints(): number {
    return this.#storedPoints;
  }

  /** Resolves when the next batch may come. Rejects with the error of this or an earlier batch. */
  async send(batch: Batch): Promise<void> {
    while (this.#blocks(batch)) await Promise.race(this.#landings());
    const flight: Flight = { batch, landed: this.#deliver(batch).then(() => void this.#flying.delete(flight)) };
    flight.landed.catch(() => undefined);
    this.#flying.add(flight);
  }

  /** Resolves when all that was sent is stored. */
  async drain(): Promise<void> {
    await Promise.all(this.#landings());
  }

  /** Resolves when no request is in flight any more, whether it succeeded or not. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#landings());
  }

  #landings(): Promise<void>[] {
    return Array.from(this.#flying, ({ landed }) => landed);
  }

  #blocks(next: Batch): boolean {
    const flying = Array.from(this.#flying, ({ batch }) => batch);
    const isFull = flying.length >= (this.connection.hasAnswered() ? maxFlying : 1);
    return isFull || flying.some((batch) => batch.firstMs <= next.lastMs && next.firstMs <= batch.lastMs);
  }

  async #deliver(batch: Batch): Promise<void> {
    const body = await compress(batch.body, { level: 1 });
    await this.connection.headwater.ingest(body, { signal: this.signal });
    this.#storedPoints += batch.points;
  }
}
