import type { StreamRecord, Topic } from '#log';
import { noTags, tagsOf, type EventBatch, type PointBatch, type Tags } from '#model';
import { events, points } from '#topics';

/** Takes one point or event as JSON. @param index its position in the record. */
export type Add = (json: string, index: number, metric: string) => void;

/** Which metrics a reader wants. */
export interface Filter {
  /** The same for equal filters. */
  readonly key: string;
  has(metric: string): boolean;
}

export const everything: Filter = { key: '', has: () => true };

/** @param metrics the names that are wanted. */
export function onlyMetrics(metrics: readonly string[]): Filter {
  const wanted = new Set(metrics);
  return { key: JSON.stringify([...wanted].toSorted()), has: (metric) => wanted.has(metric) };
}

/** What one of the two streams of a source carries, and how. */
export interface StreamKind {
  readonly topic: Topic<PointBatch> | Topic<EventBatch>;
  /** Names the stream in cursors. */
  readonly letter: string;
  /** Whether entries of one tick are sent together, and a slow reader gets only the newest one of each metric. */
  readonly isMerged: boolean;
  /** Adds each entry of a record that the filter wants, from an index on. Returns how many entries the record has. */
  each(record: StreamRecord, from: number, filter: Filter, add: Add): number;
  /** A message without its closing brace. @param entries with commas between them. */
  message(entries: string): string;
}

export const metricStream: StreamKind = {
  topic: points,
  letter: 'm',
  isMerged: true,
  each: ({ value }, from, filter, add) => {
    const { sourceId, series } = value as PointBatch;
    const names = namesOf(sourceId, 'metric');
    let index = 0;
    for (const { metric, tags, timestampMs, value: values } of series) {
      const first = index;
      index += values.length;
      if (index <= from || !filter.has(metric)) continue;
      const head = `{${names}${JSON.stringify(metric)},"value":`;
      const tail = `${tagsField(tags)}}`;
      for (let at = Math.max(0, from - first); at < values.length; at++)
        add(`${head}${values[at]},"timestamp":${timestampMs[at]}${tail}`, first + at, metric);
    }
    return index;
  },
  message: (entries) => `{"type":"telemetry","points":[${entries}]`,
};

export const logStream: StreamKind = {
  topic: events,
  letter: 'l',
  isMerged: false,
  each: ({ value: batch }, from, filter, add) => {
    const { sourceId, events: all } = batch as EventBatch;
    const names = namesOf(sourceId, 'event');
    for (let at = from; at < all.length; at++) {
      const { metric, value, isJson, timestampMs, tags } = all[at]!;
      if (!filter.has(metric)) continue;
      const json = isJson ? value : JSON.stringify(value);
      add(`{"type":"event",${names}${JSON.stringify(metric)},"value":${json},"timestamp":${timestampMs}${tagsField(tags)}`, at, metric);
    }
    return all.length;
  },
  message: (event) => event,
};

/** What stands before the metric. */
const namesOf = (sourceId: string, of: string): string => `"source_id":${JSON.stringify(sourceId)},"class":"${of}","metric":`;

const tagsField = (tags: Tags): string => (tags === noTags ? '' : `,"tags":${JSON.stringify(tagsOf(tags))}`);
