import type { SentBody, SentPoint } from '../exactness/world.js';
import { Random } from '../random.js';

/** 200 devices that send a body of 100 points a second each: 5 % events, 5 % of the points out of order, 1 % of the bodies twice. */
export const devices = 200;
export const pointsPerBody = 100;
const metrics = 10;
const beginMs = Date.UTC(2026, 0, 1);

export const deviceId = (device: number): string => `device-${String(device).padStart(3, '0')}`;

/** The body number `at` of a device: the same for the same arguments, and no two bodies have a point in common. */
export function loadBody(seed: number, device: number, at: number): SentBody {
  const random = new Random(seed * 31 + device * 1_000_003 + at);
  const points = Array.from({ length: pointsPerBody }, (_, n): SentPoint => {
    const onTimeMs = beginMs + at * 1000 + n * 10;
    // On time it is a multiple of 10 ms and late it is none, so that no time of a metric comes twice.
    const timestamp = random.chance(0.05) ? onTimeMs - 300_000 + 1 : onTimeMs;
    if (random.chance(0.05))
      return { metric: 'event', class: 'event', value: { at, n, word: random.whole(0, 1e6).toString(36) }, timestamp };
    return { metric: `m${n % metrics}`, value: Math.round(random.fraction() * 1e6) / 1e4, timestamp };
  });
  return { source_id: deviceId(device), points };
}

/** Whether a device sends this body a second time once it is acknowledged. */
export const isSentTwice = (seed: number, device: number, at: number): boolean =>
  new Random(seed + device * 7919 + at * 104_729).chance(0.01);
