import { checkTimestamp, type PointText, utf8Bytes, wireTime } from './point.js';
import type { Batch } from './buffer.js';

/** A batch has at most so much, so that little is lost with one that the disk damages. */
export const maxBatchPoints = 1000;
export const maxBatchBytes = 64 * 1024;

/** Gathers points until they are cut off as a batch. */
export interface Gatherer {
  readonly points: number;
  readonly bytes: number;
  readonly isFull: boolean;
  /** @throws HeadwaterError for a time that cannot be */
  add(text: PointText, timestampMs: number | undefined): void;
  /** The points since the last cut as one batch; undefined when there are none. */
  cut(): Batch | undefined;
}

/** @param clock Unix milliseconds; may jump. */
export function gatherer(clock: () => number): Gatherer {
  let texts: string[] = [];
  let bytes = 0;
  /** Events of this batch that were stamped here. */
  let stamped = new Map<string, number>();
  /**
   * Events of earlier batches with the time at which they were cut off, or a later one. An equal event is stamped with the next free
   * millisecond: in another batch it would pass for the same event.
   */
  let recent = new Map<string, number>();

  /** A clock that was never set may begin at 0, which would mean no time at all. */
  const now = (): number => Math.max(1, Math.round(clock()));

  return {
    get points() {
      return texts.length;
    },
    get bytes() {
      return bytes;
    },
    get isFull() {
      return texts.length >= maxBatchPoints || bytes >= maxBatchBytes;
    },
    add({ head, tail, isEvent }, timestampMs) {
      const at = (ms: number): string => head + wireTime(ms) + tail;
      let stamp = timestampMs === undefined ? now() : checkTimestamp(timestampMs);
      if (isEvent && timestampMs === undefined) {
        while (recent.has(at(stamp))) stamp++;
        stamped.set(at(stamp), stamp);
      }
      const point = at(stamp);
      texts.push(point);
      bytes += utf8Bytes(point) + 1;
    },
    cut() {
      if (texts.length === 0) return undefined;
      const batch = { text: texts.join(','), points: texts.length, bytes: bytes - 1 };
      const nowMs = now();
      recent = new Map([...recent, ...stamped].filter(([, stamp]) => stamp >= nowMs));
      stamped = new Map();
      texts = [];
      bytes = 0;
      return batch;
    },
  };
}
