import { compareTags, type Points } from './points.js';

/** Points of one series, in the order of time and tags, in pieces: a piece is rows [at, end) of `points`. */
export interface PointStream {
  readonly points: Points;
  at: number;
  end: number;
  /** Loads the next piece, which is not empty; false when there is none. */
  next(): boolean;
}

/** Merges streams, which come from the oldest to the newest. Of a point that is in several streams it keeps the newest stream's. */
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
    const until = this.#settle(stream);
    this.#current = stream;
    this.at = stream.at;
    this.end = until ? firstAtOrAfter(stream, until) : stream.end;
    return true;
  }

  /** The stream with the first point; of several the newest. */
  #newestOfFirst(): PointStream {
    let first = this.#live[0]!;
    for (const stream of this.#live) if (order(stream, first) <= 0) first = stream;
    return first;
  }

  /** Drops the point where `newest` stands from the other streams. Returns the one of them whose next point comes first. */
  #settle(newest: PointStream): PointStream | undefined {
    let first: PointStream | undefined;
    for (let at = this.#live.length - 1; at >= 0; at--) {
      const stream = this.#live[at]!;
      if (stream === newest) continue;
      if (order(stream, newest) === 0 && !this.#moveTo(stream, stream.at + 1)) continue;
      if (!first || order(stream, first) < 0) first = stream;
    }
    return first;
  }

  /** Moves a stream on; false when it has ended. */
  #moveTo(stream: PointStream, at: number): boolean {
    stream.at = at;
    if (at < stream.end || stream.next()) return true;
    this.#live.splice(this.#live.indexOf(stream), 1);
    return false;
  }
}

/** Orders the points where two streams stand: negative, zero when they are the same, or positive. */
function order(a: PointStream, b: PointStream): number {
  return a.points.timeMs[a.at]! - b.points.timeMs[b.at]! || compareTags(a.points, a.at, b.points, b.at);
}

/** The index of the first row in the current piece of a stream that is not before the point that the other stream is at; `end` when all are. */
function firstAtOrAfter({ points, at, end }: PointStream, other: PointStream): number {
  const timeMs = other.points.timeMs[other.at]!;
  let to = at + 1;
  while (to < end && points.timeMs[to]! < timeMs) to++;
  while (to < end && points.timeMs[to] === timeMs && compareTags(points, to, other.points, other.at) < 0) to++;
  return to;
}
