import { events, points, sourceKey } from '#topics';
import type { SqliteLog } from '../log/sqlite-log.js';
import { isEvents, isPoints, type Slice, type SourceCensus } from './census.js';
import { EventFold } from './event-fold.js';
import { logPieces } from './log-pieces.js';
import { SeriesFold } from './series-fold.js';

/** The content of a slice, by source. */
export interface Folded {
  readonly series: Map<SourceCensus, ReadonlyMap<string, SeriesFold>>;
  readonly events: Map<SourceCensus, EventFold>;
}

/** Goes through the log up to offset `end` and keeps what is of the slice. */
export async function foldSlice(log: SqliteLog, end: number, slice: Slice): Promise<Folded> {
  const series = new Map(Array.from(slice.series, ([source, metrics]) => [source, emptyFolds(source, metrics)]));
  const logs = new Map(Array.from(slice.events, (source) => [source, new EventFold()]));
  const seriesOf = new Map(Array.from(series, ([source, folds]) => [sourceKey(source), folds]));
  const logOf = new Map(Array.from(logs, ([source, fold]) => [sourceKey(source), fold]));
  for await (const { records } of logPieces(log, [points, events], end)) {
    for (const record of records) {
      if (isPoints(record)) for (const run of record.value!.series) seriesOf.get(record.key)?.get(run.metric)?.add(run);
      else if (isEvents(record)) logOf.get(record.key)?.add(record.value!);
    }
  }
  return { series, events: logs };
}

function emptyFolds(source: SourceCensus, metrics: ReadonlySet<string>): ReadonlyMap<string, SeriesFold> {
  return new Map(Array.from(metrics, (metric) => [metric, new SeriesFold(source.points.get(metric)!)]));
}
