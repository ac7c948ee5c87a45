import type { Socket } from 'node:net';

interface Progress {
  /** Bytes that had left towards the client. */
  readonly bytes: number;
  /** How many looks in a row have found the same number of bytes. */
  readonly idleLooks: number;
}

/** Without bytes that wait it is the server that is slow. */
const nothingWaits: Progress = { bytes: -1, idleLooks: 0 };
const maxIdleLooks = 4;

/**
 * Cuts the connections of clients that do not read: bytes wait for them, and none has left for `stallMs`. That time is counted in looks: while
 * the server itself stands still, there is none, and no client is to blame.
 */
export class StalledReaders {
  readonly #connections = new Map<Socket, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(stallMs: number) {
    this.#timer = setInterval(() => this.#look(), stallMs / maxIdleLooks).unref();
  }

  /** Watches a connection until it closes. */
  watch(connection: Socket): void {
    this.#connections.set(connection, nothingWaits);
    connection.once('close', () => this.#connections.delete(connection));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [connection, seen] of this.#connections) {
      const bytes = connection.bytesWritten - connection.writableLength;
      if (connection.writableLength === 0) this.#connections.set(connection, nothingWaits);
      else if (bytes !== seen.bytes) this.#connections.set(connection, { bytes, idleLooks: 0 });
      else if (seen.idleLooks + 1 === maxIdleLooks) connection.resetAndDestroy();
      else this.#connections.set(connection, { bytes, idleLooks: seen.idleLooks + 1 });
    }
  }
}
