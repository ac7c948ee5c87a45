import { Injectable } from '@nestjs/common';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from './metrics.js';

/** Long enough for what clients already sent to arrive, from the other side of the world or from a busy machine. */
const quietMs = 1000;
/** Then whoever is still sending is a slow body, which is cut off by then anyway. */
const patienceMs = 40_000;
const goodbyeMs = 2000;

/** Requests under way, and the way to stop without losing one. */
@Injectable()
export class Traffic {
  /** Requests whose answer is not out yet. */
  open = 0;
  /** Every answer now ends its connection. */
  closing = false;
  #lastMs = 0;

  constructor(metrics: Metrics) {
    metrics.add({
      name: 'headwater_requests_under_way',
      kind: 'gauge',
      unit: '',
      help: 'Requests whose answer is not out yet.',
      read: () => this.open,
    });
  }

  begin(): void {
    this.open++;
    this.#lastMs = performance.now();
  }

  end(): void {
    this.open--;
  }

  /**
   * Stops listening, answers what is under way and what still comes over open connections, and resolves when it has been quiet for a
   * moment and the connections are closed.
   */
  async drain(server: Server): Promise<void> {
    this.closing = true;
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
    if (this.open > 0) return false;
    if (performance.now() - this.#lastMs >= quietMs) return true;
    return (await connections(server)) === 0;
  }
}

const connections = (server: Server): Promise<number> => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
