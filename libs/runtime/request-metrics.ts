import type { Answered } from '#edge';
import { counter, Histogram, histogram, type Metric, type Sample } from '#model';

const latencyBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** Counts answers by route, method and status, and how long they took. */
export class RequestMetrics {
  readonly #counts = new Map<string, number>();
  /** By route: probes are answered at once and would hide what the others take. */
  readonly #latency = new Map<string, Histogram>();

  readonly metrics: readonly Metric[] = [
    counter('headwater_http_requests', 'Answered requests by method, route and status.', () =>
      Array.from(this.#counts, ([name, value]) => {
        const [method = '', route = '', status = ''] = name.split(' ');
        return { labels: { method, route, status }, value };
      }),
    ),
    histogram('headwater_http_request_duration_seconds', 'Time from the head of a request to the end of its answer, by route.', () =>
      Array.from(this.#latency, ([route, value]): Sample<Histogram> => ({ labels: { route }, value })),
    ),
  ];

  add({ method, route, status, durationMs }: Answered): void {
    const name = `${method} ${route} ${status}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    const latency = this.#latency.get(route) ?? new Histogram(latencyBounds);
    this.#latency.set(route, latency);
    latency.add(durationMs / 1000);
  }
}
