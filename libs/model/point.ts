/**
 * Labels of a point as one text, which `tagsKey` makes: equal exactly for equal labels, in whatever order they came, and empty for none. There are at
 * most 16, with names and values of at most 256 bytes of UTF-8 each.
 */
export type Tags = string;

/** In one body. */
export const maxPoints = 10_000;

export const maxTags = 16;
export const maxTagBytes = 256;

export const noTags: Tags = '';

/** The same by their names. Has no prototype, so any name is only data. */
export type TagMap = Readonly<Record<string, string>>;

/** Points as parallel columns. Nobody changes them: runs of one batch may share a column of times. */
export interface PointColumns {
  /** Unix milliseconds, integers. */
  readonly timestampMs: Float64Array;
  /** Finite. */
  readonly value: Float64Array;
}

/** The numeric points of one metric with the same tags, in body order; of equal times the later position wins. */
export interface SeriesRun extends PointColumns {
  readonly metric: string;
  readonly tags: Tags;
}

/** What a batch deletes of its source, in its own topic: all that stands before it there. What comes later is new. */
export interface Deletion {
  /** Null is all of the source. */
  readonly metric: string | null;
}

/** The numeric points of one request and one source; or a deletion, which has none. */
export interface PointBatch {
  readonly orgId: string;
  readonly sourceId: string;
  /** Server receive time, Unix milliseconds. */
  readonly receivedMs: number;
  readonly series: readonly SeriesRun[];
  readonly deleted?: Deletion | null;
}

/** One event as it is kept: identified by (source, metric, time, value, tags, ordinal). */
export interface DeviceEvent {
  readonly metric: string;
  readonly timestampMs: number;
  /** A string that was sent as a string, else the JSON that was sent, without its blanks; at most 4,096 bytes of UTF-8. */
  readonly value: string;
  /** True when `value` is the JSON of something that is not a string. */
  readonly isJson: boolean;
  readonly tags: Tags;
  /** Position in the whole body; orders events of equal time. */
  readonly place: number;
  /** 0 for the first of several events of one body that are equal in everything else, 1 for the second, … */
  readonly ordinal: number;
}

/** The events of one request and one source; or a deletion, which has none. */
export interface EventBatch {
  readonly orgId: string;
  readonly sourceId: string;
  /** Server receive time, Unix milliseconds. */
  readonly receivedMs: number;
  /** Who wrote it; what the service writes itself (alerts, command results) never counts as the source being seen. */
  readonly origin: 'source' | 'service';
  readonly events: readonly DeviceEvent[];
  readonly deleted?: Deletion | null;
}

/** An event as readers see it. */
export interface LogEntry {
  readonly timestampMs: number;
  readonly metric: string;
  readonly value: string;
  readonly tags: TagMap;
}
