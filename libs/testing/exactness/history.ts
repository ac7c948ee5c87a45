import { Random } from '../random.js';
import type { SentBody, SentPoint } from './world.js';

/** What one seed makes happen: bodies of two organizations that use the same names, to be sent one after the other. */
export interface History {
  readonly seed: number;
  /** Names that both organizations use. */
  readonly sources: readonly string[];
  readonly metrics: readonly string[];
  readonly bodies: readonly { readonly org: 0 | 1; readonly body: SentBody; readonly gzip: boolean }[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Times that points gather around: many duplicates, and edges of buckets, days and leap days among them. */
const anchorsMs = (nowMs: number): readonly number[] => [
  nowMs - 20 * minuteMs,
  nowMs - 40 * minuteMs,
  nowMs + 4 * minuteMs,
  nowMs - 3 * hourMs,
  nowMs + 2 * dayMs,
  Date.UTC(2024, 1, 28, 23, 50),
  Date.UTC(2024, 1, 28, 23, 50),
  Date.UTC(2024, 11, 31, 23, 59, 30),
  Date.UTC(1970, 0, 1, 0, 0, 1),
  Date.UTC(1999, 5, 1),
  Date.UTC(2038, 0, 19, 3, 14),
  Date.UTC(4000, 0, 1),
];

/** Values by the last part of the metric's name. Sums of `mixed` never leave the doubles; those of `huge` do. */
const valueOf: Readonly<Record<string, (random: Random) => number>> = {
  temp: (random) => Math.round(random.fraction() * 400_000) / 10_000,
  count: (random) => random.whole(-5, 5),
  same: () => 21.5,
  mixed: (random) => (random.chance(0.5) ? 1 : -1) * random.fraction() * 10 ** random.whole(-320, 300),
  huge: (random) => (0.5 + random.fraction() / 2) * Number.MAX_VALUE,
  'tiny,"\n': (random) => random.pick([5e-324, 1e-310, 0, -0, Number.MIN_VALUE * 3]),
  'ünïcode 🌡': (random) => random.fraction() - 0.5,
};

/** @param nowMs what the near times are near to. */
export function history(seed: number, prefix: string, nowMs: number): History {
  return new Writer(new Random(seed), seed, prefix, nowMs).write();
}

class Writer {
  readonly #sources: readonly string[];
  readonly #metrics: readonly string[];
  readonly #sent: [SentBody[], SentBody[]] = [[], []];

  constructor(
    private readonly random: Random,
    private readonly seed: number,
    private readonly prefix: string,
    private readonly nowMs: number,
  ) {
    this.#sources = ['a', 'b:2'].map((name) => `${prefix}.${seed}.${name}`);
    this.#metrics = Object.keys(valueOf).map((kind) => `${prefix}.${kind}`);
  }

  write(): History {
    // Some sources have more rows than one answer holds.
    const big = this.random.chance(0.03) ? this.random.pick([0, 1] as const) : undefined;
    const bodies = Array.from({ length: this.random.whole(4, 12) }, (_, at) => {
      const isBig = big !== undefined && (at === 1 || at === 3);
      const org = isBig ? big : this.random.pick([0, 1] as const);
      const body = isBig ? this.#fresh(10_000, this.#sources[0]) : this.#body(org);
      this.#sent[org].push(body);
      return { org, body, gzip: this.random.chance(0.2) };
    });
    return { seed: this.seed, sources: this.#sources, metrics: this.#metrics, bodies };
  }

  #body(org: 0 | 1): SentBody {
    const earlier = this.#sent[org];
    const again = earlier.length > 0 && this.random.chance(0.4) ? this.random.pick(earlier) : undefined;
    return again ? this.#resent(again) : this.#fresh();
  }

  /** An earlier body: whole, a part of it, or in another order. */
  #resent(body: SentBody): SentBody {
    const how = this.random.pick(['whole', 'part', 'order'] as const);
    if (how === 'whole') return body;
    if (how === 'order') return { ...body, points: this.random.shuffled(body.points) };
    const from = this.random.whole(0, body.points.length);
    return { ...body, points: body.points.slice(from, this.random.whole(from, body.points.length)) };
  }

  #fresh(size = this.random.pick([0, 1, 3, 20, 60, 200]), source = this.random.pick(this.#sources)): SentBody {
    const cloud = this.#cloud(size);
    const points = Array.from({ length: size }, () => (this.random.chance(0.1) ? this.#event(cloud) : this.#metric(cloud)));
    const repeats = points.filter(() => this.random.chance(0.03)).map((point) => this.#again(point));
    const all = this.random.chance(0.3) ? this.random.shuffled([...points, ...repeats]) : [...points, ...repeats];
    return { source_id: source, points: all.slice(0, 10_000) };
  }

  /** The same point once more, some with other tags: of an event that is another one, of a number it is not. */
  #again(point: SentPoint): SentPoint {
    return this.random.chance(0.3) ? { ...point, tags: { site: 'east' } } : point;
  }

  /** Times of one body: around one anchor, on a grid that makes some of them equal. A big body spreads, so that answers are cut. */
  #cloud(size: number): () => number {
    const anchor = this.random.pick(anchorsMs(this.nowMs));
    const near = Math.abs(anchor - this.nowMs) < hourMs;
    const stepMs = near ? 1000 : this.random.pick([1, 250, 1000, 10_000, minuteMs, 7 * minuteMs, ...(size < 1000 ? [hourMs, dayMs] : [])]);
    const steps = near ? 200 : Math.max(10, size * 2);
    return () => anchor + stepMs * this.random.whole(0, steps);
  }

  #metric(cloud: () => number): SentPoint {
    const metric = this.random.pick(this.#metrics);
    const value = valueOf[metric.slice(this.prefix.length + 1)]!(this.random);
    return {
      metric,
      value,
      timestamp: this.#asSent(cloud()),
      ...(this.random.chance(0.1) && { class: 'metric' }),
      ...(this.random.chance(0.2) && { tags: { site: this.random.pick(['north', 'south']) } }),
      ...(this.random.chance(0.1) && { source_id: this.random.pick(this.#sources) }),
    };
  }

  #event(cloud: () => number): SentPoint {
    return {
      class: 'event',
      metric: `${this.prefix}.${this.random.pick(['door', 'fault'])}`,
      value: this.random.pick([{ open: true, by: 'ann' }, 'plain text', 7, [1, 'x'], false, { deep: { er: null } }]),
      timestamp: this.#asSent(cloud()),
      ...(this.random.chance(0.4) && { tags: { site: this.random.pick(['north', 'south']), n: '1' } }),
      ...(this.random.chance(0.1) && { source_id: this.random.pick(this.#sources) }),
    };
  }

  /** The same time in one of the units that clients use. */
  #asSent(timestampMs: number): number {
    const unit = this.random.pick(['ms', 'ms', 's', 'us', 'ns'] as const);
    if (timestampMs < 1e12 || unit === 's') return timestampMs / 1000;
    if (unit === 'us') return timestampMs * 1000 + this.random.whole(0, 400);
    return unit === 'ns' && timestampMs < 9e12 ? timestampMs * 1e6 : timestampMs + (this.random.chance(0.1) ? 0.25 : 0);
  }
}
