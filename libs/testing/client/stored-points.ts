import { Headwater } from '#client';
import type { DeviceOrder } from './device-process.js';

/** What a server has of the points of an order. */
export interface StoredPoints {
  readonly numbers: number;
  readonly events: number;
  /** What is not as it was handed over, in words: the first few of such things. */
  readonly wrong: readonly string[];
}

/** Events are read in windows of this length: one has a few thousand of them, and an answer holds at most 10,000. */
const windowMs = 20_000;
const most = 10;

/** Everything of an order, once. */
export const allOf = ({ points }: DeviceOrder): StoredPoints => ({ numbers: 8 * (points / 10), events: 2 * (points / 10), wrong: [] });

/** Reads the points of an order from a server, and looks at each: whether it is there once, at its time, and behind the one before. */
export async function storedPoints(order: DeviceOrder, url: string): Promise<StoredPoints> {
  const { apiKey, sourceId, metric, tags = {}, startMs, points } = order;
  const source = new Headwater({ url, apiKey }).source(sourceId);
  const endMs = startMs + points + 10;
  const wrong: string[] = [];
  let [numbers, events, last] = [0, 0, -1];
  for await (const { timestamps, values } of source.query({ metrics: [metric], interval: 'raw', start: startMs, end: endMs })) {
    for (const [at, number] of values.entries()) {
      if (timestamps[at] !== startMs + number || number <= last || number >= points || number % 10 >= 8)
        wrong.push(`${number} at ${timestamps[at]! - startMs} ms, after ${last}`);
      last = number;
    }
    numbers += values.length;
  }
  const ofTen = new Map<number, number>();
  for (let start = startMs; start < endMs; start += windowMs) {
    const window = { start, end: Math.min(endMs, start + windowMs), name: 'same', limit: 10_000 };
    for (const { timestamp_ms: timeMs, tags: its } of await source.logs(window)) {
      if (JSON.stringify(its) !== JSON.stringify(tags)) continue;
      const ten = Math.floor((timeMs - startMs) / 10);
      ofTen.set(ten, (ofTen.get(ten) ?? 0) + 1);
      events++;
    }
  }
  for (const [ten, count] of ofTen) if (count > 2) wrong.push(`${count} events of two, at ${10 * ten} ms`);
  return { numbers, events, wrong: wrong.slice(0, most) };
}
