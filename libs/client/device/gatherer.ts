import type { Batch } from './buffer.js';
import { between } from './parcel.js';
import { checkTimestamp, isEvent, type PointText, wireTime } from './point.js';

/** A batch has at most so much, so that little is lost with one that the disk damages. */
export const maxBatchPoints = 1000;
const maxBatchChars = 64 * 1024;

/** Gathers points until they are cut off as a batch. */
export interface Gatherer {
  readonly points: number;
  /** In bytes these are at most three times as many. */
  readonly chars: number;
  readonly isFull: boolean;
  /** @throws HeadwaterError for a time that cannot be */
  add(text: PointText, timestampMs: number | undefined): void;
  /** The points since the last cut as one batch; undefined when there are none. */
  cut(): Batch | undefined;
}

/** @param clock Unix milliseconds; may jump. */
export function gatherer(clock: () => number): Gatherer {
  let texts: string[] = [];
  let chars = 0;
  /** Events of this batch that were stamped here. */
  let stamped = new Map<string, number>();
  /**
   * Events of earlier batches with the time at which they were cut off, or a later one. An equal event is stamped with the next free
   * millisecond: in another batch it would pass for the same event.
   */
  let recent = new Map<string, number>();

  return {
    get points() {
      return texts.length;
    },
    get chars() {
      return chars;
    },
    get isFull() {
      return texts.length >= maxBatchPoints || chars >= maxBatchChars;
    },
    add({ head, tail }, timestampMs) {
      const at = (ms: number): string => head + wireTime(ms) + tail;
      // A clock that was never set may begin at 0, which would mean no time at all.
      let stamp = checkTimestamp(timestampMs ?? Math.max(1, clock()));
      if (isEvent(head) && timestampMs === undefined) {
        while (recent.has(at(stamp))) stamp++;
        stamped.set(at(stamp), stamp);
      }
      const point = at(stamp);
      texts.push(point);
      chars += point.length;
    },
    cut() {
      if (texts.length === 0) return undefined;
      const text = texts.join(between);
      const batch = { text, points: texts.length, bytes: new TextEncoder().encode(text).length };
      const nowMs = Math.round(clock());
      recent = new Map([...recent, ...stamped].filter(([, stamp]) => stamp >= nowMs));
      stamped = new Map();
      texts = [];
      chars = 0;
      return batch;
    },
  };
}
