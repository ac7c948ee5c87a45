import type { EventBatch, PointBatch } from './point.js';

/** The points of a batch at or after a time. The same batch when all are. */
export function batchFrom(batch: PointBatch, fromMs: number): PointBatch {
  if (fromMs === 0 || batch.series.every(({ timestampMs }) => timestampMs.every((time) => time >= fromMs))) return batch;
  const series = batch.series.map((run) => {
    const isKept = (_: number, at: number): boolean => run.timestampMs[at]! >= fromMs;
    return { ...run, timestampMs: run.timestampMs.filter(isKept), value: run.value.filter(isKept) };
  });
  return { ...batch, series: series.filter(({ value }) => value.length > 0) };
}

/** How many points a batch has. */
export const pointsOf = ({ series }: PointBatch): number => series.reduce((sum, { value }) => sum + value.length, 0);

/** The events of a batch at or after a time. */
export function eventsSince<T extends Pick<EventBatch, 'events'>>(batch: T, fromMs: number): T {
  if (fromMs === 0 || batch.events.every(({ timestampMs }) => timestampMs >= fromMs)) return batch;
  return { ...batch, events: batch.events.filter(({ timestampMs }) => timestampMs >= fromMs) };
}
