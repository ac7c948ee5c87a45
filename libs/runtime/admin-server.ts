import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metric } from '#model';
import { openMetrics, openMetricsContentType } from './open-metrics.js';

const host = '127.0.0.1';

/** Serves /metrics on loopback. */
export class AdminServer {
  readonly #server: Server;

  constructor(metrics: readonly Metric[]) {
    this.#server = createServer((request, response) => {
      if (request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      openMetrics(metrics).then(
        (text) => response.writeHead(200, { 'content-type': openMetricsContentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
  }

  /** Resolves to the address. Rejects as `net.Server.listen` does. */
  listen(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve(`http://${host}:${(this.#server.address() as AddressInfo).port}`));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
