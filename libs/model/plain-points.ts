import { field } from './field.js';
import { behindSame, closeBrace, comma, quote } from './json-bytes.js';
import { unusual, type JsonCursor } from './json-cursor.js';
import type { Name } from './name-table.js';
import type { PointCollector, PointMemory } from './point-collector.js';
import { noTags } from './point.js';
import { maxTimestampMs, pointTimeMs } from './timestamp.js';

/**
 * Reads points in a row that are written as the one before them, which had a metric, a value and perhaps a time, and nothing else: most points of most
 * bodies. The state of a point is in local variables and one `try` is for all points, which takes two thirds of the time of a call for each point.
 */
export class PlainPoints {
  constructor(
    private readonly json: JsonCursor,
    private readonly memory: PointMemory,
    private readonly points: PointCollector,
    private readonly receivedMs: number,
  ) {}

  /**
   * Adds the points that stand here, at most so many, and returns how many they were. Stops in front of a point that is written in another way, and in front
   * of the last one of the body.
   */
  read(sourceId: string, most: number): number {
    const { json, memory, points, receivedMs } = this;
    const { bytes, view, names } = json;
    const { layout, runOf, timestampMs, value, pointsOf } = memory;
    const { fields, starts, ends, keys } = layout;
    const limit = bytes.length;
    const first = memory.count;
    const end = first + most;
    let count = first;
    let start = json.at;
    let lastName = json.lastName;
    let { timeMs, timeStart, timeLength } = layout;
    try {
      while (count < end) {
        let at = start;
        let metric: Name | undefined;
        let atMs = receivedMs;
        let number = 0;
        for (let place = 0; place < fields && at >= 0; place++) {
          at = behindSame(view, at, view, starts[place]!, ends[place]! - starts[place]!, limit);
          if (at < 0) break;
          const key = keys[place];
          if (key === field.metric) {
            metric = bytes[at] === quote ? names.nextAgain(view, at + 1, lastName, limit) : undefined;
            at = metric ? at + 1 + metric.length : -1;
          } else if (key === field.value) {
            json.at = at;
            json.readNumber();
            number = json.number;
            at = json.at;
          } else {
            let behind = timeLength > 0 ? behindSame(view, at, view, timeStart, timeLength, limit) : -1;
            if (behind < 0) {
              json.at = at;
              json.readNumber();
              behind = json.at;
              const ms = pointTimeMs(json.number, receivedMs);
              if (ms > maxTimestampMs) throw unusual;
              timeMs = ms;
              timeStart = at;
              timeLength = behind - at;
            }
            at = behind;
            atMs = timeMs;
          }
        }
        if (at < 0 || !metric?.isMetric) break;
        json.at = at;
        if (json.goesOn(closeBrace) || bytes[json.at] !== comma) break;
        const run = points.runOf(metric, sourceId, 0, noTags);
        runOf[count] = run;
        timestampMs[count] = atMs;
        value[count] = number;
        pointsOf[run]!++;
        count++;
        lastName = metric;
        start = json.at + 1;
      }
    } catch (error) {
      if (error !== unusual) throw error;
    }
    layout.timeMs = timeMs;
    layout.timeStart = timeStart;
    layout.timeLength = timeLength;
    memory.count = count;
    json.at = start;
    json.lastName = lastName;
    return count - first;
  }
}
