import type { ServerResponse } from 'node:http';

interface Progress {
  /** Bytes that had left towards the client, over all answers of its connection. */
  readonly bytes: number;
  readonly sinceMs: number;
}

const none: Progress = { bytes: -1, sinceMs: 0 };

/** Cuts the connections of clients that do not read: nothing of an answer that waits has left for `stallMs`. */
export class StalledReaders {
  readonly #answers = new Map<ServerResponse, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly stallMs: number) {
    this.#timer = setInterval(() => this.#look(), stallMs / 4).unref();
  }

  /** Watches an answer from now on, until its response closes and `leave` is called. */
  watch(answer: ServerResponse): void {
    this.#answers.set(answer, none);
  }

  leave(answer: ServerResponse): void {
    this.#answers.delete(answer);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = performance.now();
    for (const [answer, seen] of this.#answers) {
      const { socket } = answer.req;
      const bytes = socket.bytesWritten - socket.writableLength;
      // Without bytes that wait it is the server that is slow.
      if (bytes !== seen.bytes || socket.writableLength === 0) this.#answers.set(answer, { bytes, sinceMs: nowMs });
      else if (nowMs - seen.sinceMs >= this.stallMs) socket.resetAndDestroy();
    }
  }
}
