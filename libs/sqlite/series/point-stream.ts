import type { Points } from './points.js';

/** Points of one series, ascending in time, in pieces: a piece is rows [at, end) of `points`. */
export interface PointStream {
  readonly points: Points;
  at: number;
  end: number;
  /** Loads the next piece, which is not empty; false when there is none. */
  next(): boolean;
}

/** Takes rows [from, to) of `points`; false when it needs no more. */
export type PointSink = (points: Points, from: number, to: number) => boolean;

/** Gives the points of several streams, ordered from the oldest to the newest, as one: of equal times only the newest stream's. */
export function mergePoints(streams: readonly PointStream[], sink: PointSink): void {
  const live = streams.filter((stream) => stream.next());
  while (live.length > 1) {
    const newest = pickFirst(live);
    const { points } = newest;
    const untilMs = settle(live, newest);
    const from = newest.at;
    let to = from + 1;
    while (to < newest.end && points.timeMs[to]! < untilMs) to++;
    newest.at = to;
    if (!sink(points, from, to)) return;
    if (to === newest.end && !newest.next()) live.splice(live.indexOf(newest), 1);
  }
  for (const last of live) {
    do {
      if (!sink(last.points, last.at, last.end)) return;
    } while (last.next());
  }
}

/** The stream with the first time; of several the newest. */
function pickFirst(live: readonly PointStream[]): PointStream {
  let first = live[0]!;
  for (const stream of live) if (stream.points.timeMs[stream.at]! <= first.points.timeMs[first.at]!) first = stream;
  return first;
}

/** Drops what others have at the time where `newest` stands, and says when the first of them goes on. */
function settle(live: PointStream[], newest: PointStream): number {
  const timeMs = newest.points.timeMs[newest.at]!;
  let untilMs = Infinity;
  for (let at = live.length - 1; at >= 0; at--) {
    const stream = live[at]!;
    if (stream === newest) continue;
    if (stream.points.timeMs[stream.at] === timeMs && ++stream.at === stream.end && !stream.next()) live.splice(at, 1);
    else untilMs = Math.min(untilMs, stream.points.timeMs[stream.at]!);
  }
  return untilMs;
}
