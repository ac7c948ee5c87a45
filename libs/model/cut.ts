import type { DeviceEvent, EventBatch, PointBatch, SeriesRun, Tags } from './point.js';

/** A record of the log stays below this size once encoded. */
export const maxRecordBytes = 256 * 1024;

// Upper estimates of Avro's sizes: a length takes at most 5 bytes here, a time before the year 10000 7, a double 8.
const lengthBytes = 5;
const timestampBytes = 7;
const pointBytes = timestampBytes + 8;
/** A name of 256 bytes, 16 tags of twice as many, and their lengths. */
const maxRunHeadBytes = 16 * 1024;
/** Of an organization and a source. */
const maxKeyBytes = 2 * (lengthBytes + 256);
/** UTF-8 has at most so many bytes for each UTF-16 unit of a string. */
const bytesPerUnit = 3;
/** Framing, receive time, origin, that nothing is deleted, the array's own lengths. */
const batchBytes = 5 + 10 + 1 + 1 + 2 * lengthBytes;

/** Cuts a batch into several of less than 256 KiB each once encoded, in order; mostly it is one already. */
export function cutPoints(batch: PointBatch): PointBatch[] {
  if (isSmall(batch)) return [batch];
  const room = maxRecordBytes - headBytes(batch);
  return packed(piecesOf(batch.series, room), runBytes, room).map((series) => (series === batch.series ? batch : { ...batch, series }));
}

/** True of a batch that is certain to fit into one record, by the lengths of its texts alone. False says nothing. */
function isSmall({ series }: PointBatch): boolean {
  let bytes = batchBytes + maxKeyBytes;
  for (const { metric, tags, value } of series)
    bytes += runLengthsBytes + bytesPerUnit * (metric.length + tags.length) + value.length * pointBytes;
  return series.length > 0 && bytes < maxRecordBytes;
}

/** Cuts a batch into several of less than 256 KiB each once encoded, in order; mostly it is one already. */
export function cutEvents(batch: EventBatch): EventBatch[] {
  if (batch.events.length === 1) return [batch];
  return packed(batch.events, eventBytes, maxRecordBytes - headBytes(batch)).map((events) =>
    events === batch.events ? batch : { ...batch, events },
  );
}

/** Fills groups in order: each takes what fits. Mostly that is all, as it is. */
function packed<T>(items: readonly T[], bytesOf: (item: T) => number, room: number): (readonly T[])[] {
  const groups: (readonly T[])[] = [];
  let [start, left] = [0, room];
  for (let at = 0; at < items.length; at++) {
    const bytes = bytesOf(items[at]!);
    if (bytes >= left && at > start) {
      groups.push(items.slice(start, at));
      [start, left] = [at, room];
    }
    left -= bytes;
  }
  if (items.length > 0) groups.push(start === 0 ? items : items.slice(start));
  return groups;
}

/** The runs, where one alone would not fit cut into pieces that do. */
function piecesOf(runs: readonly SeriesRun[], room: number): readonly SeriesRun[] {
  // Most runs are far too short to be too long.
  const fits = (run: SeriesRun): boolean => maxRunHeadBytes + run.value.length * pointBytes < room || runBytes(run) < room;
  if (runs.every(fits)) return runs;
  return runs.flatMap((run) => {
    if (fits(run)) return run;
    const points = run.value.length;
    const maxPoints = Math.floor((room - runHeadBytes(run) - 1) / pointBytes);
    return Array.from({ length: Math.ceil(points / maxPoints) }, (_, piece) => slice(run, piece * maxPoints, (piece + 1) * maxPoints));
  });
}

function slice(run: SeriesRun, start: number, end: number): SeriesRun {
  return { ...run, timestampMs: run.timestampMs.subarray(start, end), value: run.value.subarray(start, end) };
}

const stringBytes = (text: string): number => lengthBytes + Buffer.byteLength(text);
const headBytes = ({ orgId, sourceId }: { orgId: string; sourceId: string }): number =>
  batchBytes + stringBytes(orgId) + stringBytes(sourceId);
/** Of a metric, two columns with the end of each, and tags. */
const runLengthsBytes = 7 * lengthBytes;
const runHeadBytes = ({ metric, tags }: SeriesRun): number => runLengthsBytes + Buffer.byteLength(metric) + Buffer.byteLength(tags);
const runBytes = (run: SeriesRun): number => runHeadBytes(run) + run.value.length * pointBytes;

function eventBytes({ metric, value, tags }: DeviceEvent): number {
  return stringBytes(metric) + timestampBytes + stringBytes(value) + 1 + tagsBytes(tags) + 2 * lengthBytes;
}

/** The text has more around each name and value than the two bytes of Avro's lengths. */
function tagsBytes(tags: Tags): number {
  return 2 * lengthBytes + Buffer.byteLength(tags);
}
