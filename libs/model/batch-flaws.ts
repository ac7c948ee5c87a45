import { maxEventValueBytes } from './event-value.js';
import { fitsUtf8, isMetric, isOrgId, isSourceId } from './names.js';
import {
  maxTagBytes,
  maxTags,
  type Deletion,
  type DeviceEvent,
  type EventBatch,
  type PointBatch,
  type SeriesRun,
  type Tags,
} from './point.js';
import { pairsOf } from './tags.js';
import { maxTimestampMs } from './timestamp.js';

/** How a batch, perhaps of another producer, breaks the rules of ingest, in words for the operator; undefined if it does not. */
export function flawOfPoints({ orgId, sourceId, series, deleted }: PointBatch): string | undefined {
  return flawOfSource({ orgId, sourceId }) ?? flawOfDeletion(deleted, series) ?? firstFlaw(series, flawOfRun);
}

/** As `flawOfPoints`. */
export function flawOfEvents({ orgId, sourceId, events, deleted }: EventBatch): string | undefined {
  return flawOfSource({ orgId, sourceId }) ?? flawOfDeletion(deleted, events) ?? firstFlaw(events, flawOfEvent);
}

/** What is wrong with the names of an organization and its source, in words for the operator; undefined if nothing is. */
export function flawOfSource({ orgId, sourceId }: { readonly orgId: string; readonly sourceId: string }): string | undefined {
  if (!isOrgId(orgId)) return 'the organization id is not one';
  return isSourceId(sourceId) ? undefined : 'the source id is not one';
}

function flawOfDeletion(deleted: Deletion | null | undefined, content: readonly unknown[]): string | undefined {
  if (!deleted) return undefined;
  if (content.length > 0) return 'a deletion brings points or events too';
  return deleted.metric === null || isMetric(deleted.metric) ? undefined : 'a metric name is not one';
}

function flawOfRun({ metric, tags, timestampMs, value }: SeriesRun): string | undefined {
  if (!isMetric(metric)) return 'a metric name is not one';
  // Not with `every`, which makes an object of each number for its callback.
  for (let at = 0; at < timestampMs.length; at++)
    if (!isTimestamp(timestampMs[at]!)) return 'a timestamp is not a whole number of milliseconds from 1 to the year 9999';
  for (let at = 0; at < value.length; at++) if (!Number.isFinite(value[at]!)) return 'a value is not finite';
  return flawOfTags(tags);
}

function flawOfEvent({ metric, timestampMs, value, tags, place, ordinal }: DeviceEvent): string | undefined {
  if (!isMetric(metric)) return 'a metric name is not one';
  if (!isTimestamp(timestampMs)) return 'a timestamp is not a whole number of milliseconds from 1 to the year 9999';
  if (!fitsUtf8(value, maxEventValueBytes)) return `a value has more than ${maxEventValueBytes} bytes`;
  if (place < 0 || ordinal < 0) return 'a place or an ordinal is below 0';
  return flawOfTags(tags);
}

/** Shorter tags cannot be too many, for each takes eight characters and a name of its own; nor can one be too long. */
const shortTags = maxTagBytes / 3;

function flawOfTags(tags: Tags): string | undefined {
  if (tags.length < shortTags) return undefined;
  const all = pairsOf(tags);
  if (all.length > maxTags) return `a point has more than ${maxTags} tags`;
  return all.every((tag) => tag.every((text) => fitsUtf8(text, maxTagBytes))) ? undefined : `a tag has more than ${maxTagBytes} bytes`;
}

const isTimestamp = (ms: number): boolean => Number.isInteger(ms) && ms > 0 && ms <= maxTimestampMs;

function firstFlaw<T>(all: readonly T[], flawOf: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const flaw = flawOf(one);
    if (flaw) return flaw;
  }
  return undefined;
}
