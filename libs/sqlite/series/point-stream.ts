import type { Points } from './points.js';

/** Points of one series, ascending in time, in pieces: a piece is rows [at, end) of `points`. */
export interface PointStream {
  readonly points: Points;
  at: number;
  end: number;
  /** Loads the next piece, which is not empty; false when there is none. */
  next(): boolean;
}

/** Several streams, ordered from the oldest to the newest, as one: of points with equal times only the newest stream's. */
export class MergedPoints implements PointStream {
  at = 0;
  end = 0;
  readonly #live: PointStream[];
  #current: PointStream | undefined;

  constructor(streams: readonly PointStream[]) {
    this.#live = streams.filter((stream) => stream.next());
  }

  get points(): Points {
    return this.#current!.points;
  }

  next(): boolean {
    if (this.#current) this.#moveTo(this.#current, this.end);
    if (this.#live.length === 0) return false;
    const stream = this.#newestOfFirst();
    const untilMs = this.#settle(stream);
    this.#current = stream;
    this.at = stream.at;
    this.end = untilMs === Infinity ? stream.end : firstAtOrAfter(stream, untilMs);
    return true;
  }

  /** The stream with the first time; of several the newest. */
  #newestOfFirst(): PointStream {
    let first = this.#live[0]!;
    for (const stream of this.#live) if (stream.points.timeMs[stream.at]! <= first.points.timeMs[first.at]!) first = stream;
    return first;
  }

  /** Drops what others have at the time where `newest` stands, and says when the first of them goes on. */
  #settle(newest: PointStream): number {
    const timeMs = newest.points.timeMs[newest.at]!;
    let untilMs = Infinity;
    for (let at = this.#live.length - 1; at >= 0; at--) {
      const stream = this.#live[at]!;
      if (stream === newest) continue;
      if (stream.points.timeMs[stream.at] !== timeMs || this.#moveTo(stream, stream.at + 1)) {
        untilMs = Math.min(untilMs, stream.points.timeMs[stream.at]!);
      }
    }
    return untilMs;
  }

  /** Moves a stream on; false when it has ended. */
  #moveTo(stream: PointStream, at: number): boolean {
    stream.at = at;
    if (at < stream.end || stream.next()) return true;
    this.#live.splice(this.#live.indexOf(stream), 1);
    return false;
  }
}

function firstAtOrAfter({ points, at, end }: PointStream, timeMs: number): number {
  let to = at + 1;
  while (to < end && points.timeMs[to]! < timeMs) to++;
  return to;
}
