import type { Socket } from 'node:net';

interface Progress {
  /** Bytes that had left towards the client. */
  readonly bytes: number;
  readonly sinceMs: number;
}

/** Without bytes that wait it is the server that is slow. */
const nothingWaits: Progress = { bytes: -1, sinceMs: 0 };

/** Cuts the connections of clients that do not read: bytes wait for them, and none has left for `stallMs`. */
export class StalledReaders {
  readonly #connections = new Map<Socket, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly stallMs: number) {
    this.#timer = setInterval(() => this.#look(), stallMs / 4).unref();
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
    const nowMs = performance.now();
    for (const [connection, seen] of this.#connections) {
      const bytes = connection.bytesWritten - connection.writableLength;
      if (connection.writableLength === 0) this.#connections.set(connection, nothingWaits);
      else if (bytes !== seen.bytes) this.#connections.set(connection, { bytes, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs >= this.stallMs) connection.resetAndDestroy();
    }
  }
}
