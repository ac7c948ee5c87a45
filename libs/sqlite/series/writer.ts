import type { DatabaseSync } from 'node:sqlite';
import type { Handlers } from '../worker.js';
import { type DirectoryRows, metricsOfSeries, readDirectory } from './directory-rows.js';
import { flushArena, type SealedArena } from './flush.js';
import { readRuns } from './run.js';
import { createSeriesTables } from './tables.js';

/** What a store holds when it is opened. */
export interface OpenedStore {
  readonly directory: DirectoryRows;
  readonly lastArena: number;
  readonly offsets: Readonly<Record<number, number>>;
}

/** What the store's writer thread does for the series store. */
export function seriesWriter(db: DatabaseSync): Handlers {
  createSeriesTables(db);
  let metrics: number[] = [];
  let nextRun = 1;
  return {
    'series.open': (): OpenedStore => {
      const directory = readDirectory(db);
      const newest = readRuns(db).at(-1);
      metrics = metricsOfSeries(directory.sources);
      nextRun =
        1 +
        Math.max(
          ...(Object.values(db.prepare('SELECT ifnull(max(run), 0), (SELECT ifnull(max(id), 0) FROM run) FROM block').get()!) as number[]),
        );
      return { directory, lastArena: newest?.lastArena ?? 0, offsets: newest?.offsets ?? {} };
    },
    'series.flush': (arena: SealedArena): void => {
      for (const { pairs } of arena.directory.sources) for (let at = 0; at < pairs.length; at += 2) metrics[pairs[at + 1]!] = pairs[at]!;
      flushArena(db, nextRun, arena, (series) => metrics[series]!);
      nextRun++;
    },
  };
}
