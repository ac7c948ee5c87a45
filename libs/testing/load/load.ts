import type { SentBody, SentPoint } from '../exactness/world.js';
import { Random } from '../random.js';

/** Devices that each send a body after the other. 5 % of the points are events, 5 % are five minutes late, 1 % of the bodies are sent twice. */
export interface Load {
  readonly seed: number;
  /** Stands before the number of each device. */
  readonly prefix: string;
  readonly devices: number;
  readonly pointsPerBody: number;
  /** Time of the first point, Unix milliseconds. */
  readonly beginMs: number;
  /** How often a device sends, milliseconds, and so the time from the first point of a body to that of the next. */
  readonly everyMs: number;
  /** The share of points that give another value to a point of the body before. */
  readonly rewritten: number;
}

const lateMs = 300_000;

/** The metrics of each device. */
export const loadMetrics = Array.from({ length: 10 }, (_, n) => `m${n}`);

export const deviceId = ({ prefix }: Pick<Load, 'prefix'>, device: number): string => `${prefix}${String(device).padStart(3, '0')}`;

/** The body number `at` of a device: the same for the same arguments; bodies have no point in common but those that are rewritten. */
export function loadBody(load: Load, device: number, at: number): SentBody {
  const { seed, pointsPerBody, beginMs, everyMs, rewritten } = load;
  const random = new Random(seed * 31 + device * 1_000_003 + at);
  const stepMs = everyMs / pointsPerBody;
  const points = Array.from({ length: pointsPerBody }, (_, n): SentPoint => {
    const onTimeMs = beginMs + at * everyMs + n * stepMs;
    // Whole steps on time and no whole ones late, so that no time of a metric comes twice by chance.
    const timestamp = random.chance(0.05) ? onTimeMs - lateMs + 1 : onTimeMs;
    if (random.chance(0.05))
      return { metric: 'event', class: 'event', value: { at, n, word: random.whole(0, 1e6).toString(36) }, timestamp };
    const again = rewritten > 0 && at > 0 && random.chance(rewritten);
    return {
      metric: loadMetrics[n % loadMetrics.length]!,
      value: Math.round(random.fraction() * 1e6) / 1e4,
      timestamp: again ? onTimeMs - everyMs : timestamp,
    };
  });
  return { source_id: deviceId(load, device), points };
}

/** Whether a device sends this body a second time once it is acknowledged. */
export const isSentTwice = ({ seed }: Pick<Load, 'seed'>, device: number, at: number): boolean =>
  new Random(seed + device * 7919 + at * 104_729).chance(0.01);
