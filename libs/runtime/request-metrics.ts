import type { Answered } from '#edge';
import { counter, Histogram, histogram, type Metric, type Sample } from '#model';

const latencyBounds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** The answers of one route. */
interface RouteMetrics {
  /** By method and status: a handful. */
  readonly counts: Count[];
  /** Probes are answered at once and would hide what other routes take. */
  readonly latency: Histogram;
}

interface Count {
  readonly method: string;
  readonly status: number;
  value: number;
}

/** Counts answers by route, method and status, and how long they took. */
export class RequestMetrics {
  readonly #routes = new Map<string, RouteMetrics>();

  readonly metrics: readonly Metric[] = [
    counter('headwater_http_requests', 'Answered requests by method, route and status.', () =>
      [...this.#routes].flatMap(([route, { counts }]) =>
        counts.map(({ method, status, value }) => ({ labels: { method, route, status: String(status) }, value })),
      ),
    ),
    histogram('headwater_http_request_duration_seconds', 'Time from the head of a request to the end of its answer, by route.', () =>
      Array.from(this.#routes, ([route, { latency }]): Sample<Histogram> => ({ labels: { route }, value: latency })),
    ),
  ];

  add({ method, route, status, durationMs }: Answered): void {
    let its = this.#routes.get(route);
    if (!its) this.#routes.set(route, (its = { counts: [], latency: new Histogram(latencyBounds) }));
    its.latency.add(durationMs / 1000);
    const count = its.counts.find((one) => one.status === status && one.method === method);
    if (count) count.value++;
    else its.counts.push({ method, status, value: 1 });
  }
}
