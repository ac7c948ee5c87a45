import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metric } from '#model';
import { openMetrics, openMetricsContentType } from './open-metrics.js';

/** Serves /metrics. */
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
  listen(port: number, host: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => resolve(urlOf(this.#server.address() as AddressInfo)));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const urlOf = ({ address, family, port }: AddressInfo): string => `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
