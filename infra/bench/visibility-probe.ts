import { setTimeout as pause } from 'node:timers/promises';
import { percentiles, type Percentiles } from './percentiles.js';
import { work } from './processes.js';
import { get, type Target } from './server-process.js';

/** Points to post one by one, and where to ask for them. */
export interface VisibilityOrder {
  readonly ingress: Target;
  readonly query: Target;
  readonly perSecond: number;
  readonly points: number;
}

const source = 'bench-probe';
const metric = 'probe.value';
const askEveryMs = 20;
const lostMs = 30_000;

/** Milliseconds from the intended time of posting a point to the answer that has it. */
class Probe {
  /** When each point that was not read yet was to be posted, by its own time. */
  readonly #waiting = new Map<number, number>();
  readonly #delays: number[] = [];

  constructor(private readonly order: VisibilityOrder) {}

  async run(): Promise<Percentiles> {
    await Promise.all([this.#postAll(), this.#askForAll()]);
    return percentiles(this.#delays);
  }

  async #postAll(): Promise<void> {
    const { perSecond, points } = this.order;
    const beganMs = performance.now();
    const posted: Promise<void>[] = [];
    for (let at = 0; at < points; at++) {
      const intendedMs = beganMs + (1_000 * at) / perSecond;
      await pause(Math.max(0, intendedMs - performance.now()));
      const timestamp = Date.now();
      this.#waiting.set(timestamp, intendedMs);
      posted.push(this.#post(timestamp, at));
    }
    await Promise.all(posted);
  }

  async #post(timestamp: number, value: number): Promise<void> {
    const { url, key } = this.order.ingress;
    const body = JSON.stringify({ source_id: source, points: [{ metric, value, timestamp }] });
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/ingest`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`the probe's point was refused: ${await answer.text()}`);
  }

  async #askForAll(): Promise<void> {
    const { points } = this.order;
    for (let readMs = performance.now(); this.#delays.length < points;) {
      await pause(askEveryMs);
      const times = await this.#read();
      const nowMs = performance.now();
      for (const time of times) {
        const intendedMs = this.#waiting.get(time);
        if (intendedMs === undefined) continue;
        this.#waiting.delete(time);
        this.#delays.push(nowMs - intendedMs);
        readMs = nowMs;
      }
      if (nowMs - readMs > lostMs) throw new Error(`${points - this.#delays.length} points of the probe cannot be read: the run is void`);
    }
  }

  /** The times of points that can be read and were not before; none while the source is not known. */
  async #read(): Promise<readonly number[]> {
    const [first, last] = [Math.min(...this.#waiting.keys()), Math.max(...this.#waiting.keys())];
    if (this.#waiting.size === 0) return [];
    const window = `start=${new Date(first).toISOString()}&end=${new Date(last + 1).toISOString()}`;
    const answer = await get(this.order.query, `/v1/sources/${source}/metrics/query?metrics=${metric}&interval=raw&${window}`);
    if (answer.status === 404) return [];
    const { series } = (await answer.json()) as { series: Record<string, { timestamp_ms: number[] }> };
    return series[metric]?.timestamp_ms ?? [];
  }
}

await work((order: VisibilityOrder) => Promise.resolve(() => new Probe(order).run()));
