/** What is sent: so many sources and metrics, so many points a body, over so many connections. */
export interface Shape {
  readonly name: string;
  readonly about: string;
  readonly sources: number;
  /** The number of the first source; 0 when left out. */
  readonly firstSource?: number;
  readonly metrics: number;
  readonly pointsPerBody: number;
  readonly bodies: number;
  readonly connections: number;
  readonly gzip: boolean;
  /** How far apart points of one series are; a second when left out. */
  readonly stepMs?: number;
  /** It is compared with a floor that parses bodies, too. */
  readonly parsed?: true;
}

const d1 = { sources: 400, metrics: 20, pointsPerBody: 10_000, bodies: 400, connections: 4, gzip: false };
const d2 = { sources: 10_000, metrics: 20, pointsPerBody: 100, bodies: 60_000, gzip: false };
const d3 = { sources: 1_000, metrics: 1, pointsPerBody: 1, bodies: 120_000, gzip: false };
const fleet = '10,000 sources × 20 metrics, 100-point bodies';

/** `@` and a number of connections stand behind the name of a shape where other figures have it with more. */
export const shapes: readonly Shape[] = [
  { name: 'D1', about: '400 sources × 20 metrics, 10,000-point bodies, 4 connections', ...d1 },
  { name: 'D2', about: `${fleet}, 64 connections`, ...d2, connections: 64, parsed: true },
  { name: 'D2@8', about: `${fleet}, 8 connections`, ...d2, connections: 8 },
  { name: 'D3', about: '1-point bodies, 64 connections', ...d3, connections: 64 },
  { name: 'D3@16', about: '1-point bodies, 16 connections', ...d3, connections: 16 },
  { name: 'D6', about: 'D1 gzipped', ...d1, gzip: true },
];

export const pointsOf = (shape: Shape): number => shape.bodies * shape.pointsPerBody;

/** Points of one series are this far apart, where a shape does not say. */
export const stepMs = 1_000;

/** Midnight UTC of today: a shape's points stay inside this day, so one bucket of a day counts a source. */
export const dayStartMs = (nowMs: number): number => nowMs - (nowMs % 86_400_000);

/** A generator of numbers in [0, 1) that repeats for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const sourceName = (source: number): string => `bench-${source}`;
export const metricName = (metric: number): string => `unit.metric_${metric}`;

/**
 * Body number `body` of a shape: one source, its metrics sampled tick by tick, values on a random walk with 4 decimals. No two bodies
 * of a shape are equal, and no point comes twice.
 */
export function bodyOf(shape: Shape, body: number, startMs: number): string {
  const random = seeded(body + 1);
  const walk = Array.from({ length: shape.metrics }, () => Math.round(random() * 1e6) / 1e4);
  const ticks = Math.ceil(shape.pointsPerBody / shape.metrics);
  const firstTick = Math.floor(body / shape.sources) * ticks;
  const points: string[] = [];
  for (let tick = 0; tick < ticks; tick++) {
    const timestamp = startMs + (firstTick + tick) * (shape.stepMs ?? stepMs);
    for (let metric = 0; metric < shape.metrics && points.length < shape.pointsPerBody; metric++) {
      walk[metric] = Math.round((walk[metric]! + random() - 0.5) * 1e4) / 1e4;
      points.push(`{"metric":"${metricName(metric)}","value":${walk[metric]},"timestamp":${timestamp}}`);
    }
  }
  return `{"source_id":"${sourceName((shape.firstSource ?? 0) + (body % shape.sources))}","points":[${points.join(',')}]}`;
}
