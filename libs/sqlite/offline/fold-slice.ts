import { events, points } from '#topics';
import type { SqliteLog } from '../log/sqlite-log.js';
import { isEvents, isPoints, type Slice, type SourceCensus } from './census.js';
import { EventFold } from './compare-events.js';
import { readRecords } from './read-records.js';
import { SeriesFold } from './series-fold.js';

/** What a slice holds of one source. */
export interface SourceFold {
  readonly source: SourceCensus;
  readonly series: ReadonlyMap<string, SeriesFold>;
  /** Undefined when the events of the source are in another slice, or there are none. */
  readonly events: EventFold | undefined;
}

/** Reads the whole log and keeps what belongs to the slice, by the key of its source. */
export async function foldSlice(log: SqliteLog, slice: Slice): Promise<Map<string, SourceFold>> {
  const folds = new Map<string, SourceFold>();
  for (const [key, { source, metrics, hasEvents }] of slice) {
    const series = new Map(metrics.map((metric) => [metric, new SeriesFold(source.points.get(metric)!)]));
    folds.set(key, { source, series, events: hasEvents ? new EventFold() : undefined });
  }
  await readRecords(log, [points, events], (records) => {
    for (const record of records) {
      const fold = folds.get(record.key);
      if (isPoints(record)) for (const run of record.value!.series) fold?.series.get(run.metric)?.add(run);
      else if (isEvents(record)) fold?.events?.add(record.value!);
    }
  });
  return folds;
}
