import { Injectable } from '@nestjs/common';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gauge } from '#model';
import { Metrics } from './metrics.js';

/** Long enough for what clients already sent to arrive, from the other side of the world or from a busy machine. */
const quietMs = 1000;
/** Then whoever is still sending is a slow body, which is cut off by then anyway. */
const patienceMs = 40_000;
const goodbyeMs = 2000;

/** What is under way, such as requests and sockets, and the way to stop without losing any of it. */
@Injectable()
export class Traffic {
  #underWay = 0;
  /**
   * The functions that end what does not end by itself. Requests are only counted: V8 copies a set after every few additions and removals, and the old
   * copies stay in memory until the next collection of the whole heap.
   */
  readonly #finishes = new Set<() => void>();
  /** Every answer now ends its connection. */
  closing = false;
  #lastMs = 0;

  constructor(metrics: Metrics) {
    metrics.add(gauge('headwater_requests_under_way', 'Requests whose answer is not out yet.', () => this.#underWay));
  }

  /**
   * Takes note of something that a stop waits for. Returns what to call when it has ended.
   *
   * @param finish called when the process stops, soon after the call where the process is stopping already: for what does not end by itself as a
   * request does, such as a socket, which sends its last acknowledgements and closes. No two calls have the same function.
   */
  begin(finish?: () => void): () => void {
    this.#underWay++;
    this.#lastMs = performance.now();
    if (finish) this.#finishes.add(finish);
    if (this.closing && finish) queueMicrotask(finish);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#underWay--;
      if (finish) this.#finishes.delete(finish);
    };
  }

  /**
   * Stops listening, answers what is under way and what still comes over open connections, has everything else finish, and resolves when
   * it has been quiet for a moment and the connections are closed.
   */
  async drain(server: Server): Promise<void> {
    this.closing = true;
    for (const finish of this.#finishes) queueMicrotask(finish);
    const startMs = performance.now();
    // The server's own `close` would reset connections that a client is just about to use.
    const closed = new Promise<void>((resolve) => void TcpServer.prototype.close.call(server, () => resolve()));
    this.#lastMs = startMs;
    while (!(await this.#quiet(server)) && performance.now() - startMs < patienceMs) await sleep(20);
    server.closeIdleConnections();
    await Promise.race([closed, sleep(goodbyeMs, undefined, { ref: false })]);
    server.closeAllConnections();
  }

  /** Nothing is under way, and nothing will come: nobody is connected, or nobody has said a word for a moment. */
  async #quiet(server: Server): Promise<boolean> {
    if (this.#underWay > 0) return false;
    if (performance.now() - this.#lastMs >= quietMs) return true;
    return (await connections(server)) === 0;
  }
}

const connections = (server: Server): Promise<number> => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
