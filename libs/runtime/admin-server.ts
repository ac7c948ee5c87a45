import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Histogram, type Distribution, type Figure, type Labels, type Metric, type Sample } from '#model';
import type { BackupRoute } from './backup-route.js';

/** Serves /metrics and, where there is a route for it, /backup. */
export class AdminServer {
  readonly #server: Server;

  constructor(metrics: readonly Metric[], backup?: BackupRoute) {
    this.#server = createServer((request, response) => {
      if (backup && request.url === '/backup') {
        void backup.answer(request, response);
        return;
      }
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

const urlOf = ({ address, family: version, port }: AddressInfo): string =>
  `http://${version === 'IPv6' ? `[${address}]` : address}:${port}`;

const openMetricsContentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Who scrapes waits for ten seconds, and needs the figures of an outage most. */
const patienceMs = 2_000;

/** Metrics as OpenMetrics text. One that is not read in `waitMs` has no samples. */
export async function openMetrics(metrics: readonly Metric[], waitMs = patienceMs): Promise<string> {
  const done = new AbortController();
  const late = pause(waitMs, [], { signal: done.signal });
  // The abort below rejects this promise when nobody waits for it any more.
  late.catch(() => undefined);
  const families = await Promise.all(metrics.map((metric) => family(metric, late)));
  done.abort();
  return `${families.join('')}# EOF\n`;
}

async function family(metric: Metric, late: Promise<Figure>): Promise<string> {
  const { name, kind, help } = metric;
  const unit = /_(seconds|bytes)$/.exec(name)?.[1];
  const head = [`# TYPE ${name} ${kind}`, ...(unit ? [`# UNIT ${name} ${unit}`] : []), `# HELP ${name} ${help}`];
  return [...head, ...lines(name, kind, await readable(metric, late)), ''].join('\n');
}

/** A part that is out of order shows by what is missing here, and must not hide the others. */
async function readable(metric: Metric, late: Promise<Figure>): Promise<Figure | Distribution> {
  try {
    const read = metric.read();
    return read instanceof Promise ? await Promise.race([read, late]) : read;
  } catch {
    return [];
  }
}

function lines(name: string, kind: Metric['kind'], read: Figure | Distribution): string[] {
  const isOne = typeof read === 'number' || read instanceof Histogram;
  const samples: readonly Sample<number | Histogram>[] = isOne ? [{ labels: {}, value: read }] : read;
  const suffix = kind === 'counter' ? '_total' : '';
  return samples.flatMap(({ labels, value }) =>
    value instanceof Histogram ? histogram(name, labels, value) : `${name}${suffix}${labelText(labels)} ${number(value)}`,
  );
}

function histogram(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string[] {
  let below = 0;
  const buckets = [...bounds, Infinity].map(
    (bound, at) => `${name}_bucket${labelText({ ...labels, le: number(bound) })} ${(below += counts[at]!)}`,
  );
  return [...buckets, `${name}_sum${labelText(labels)} ${number(sum)}`, `${name}_count${labelText(labels)} ${below}`];
}

const number = (value: number): string => (Number.isFinite(value) ? String(value) : `${value < 0 ? '-' : '+'}Inf`);

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${special.test(value) ? escaped(value) : value}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

const special = /["\\\n]/;
const escaped = (value: string): string => value.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
