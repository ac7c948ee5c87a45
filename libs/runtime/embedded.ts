import { getHeapStatistics } from 'node:v8';
import { ONLY_PROCESS, RECORD_LOG, VIEWS } from '#log';
import { GENERATIONS, NAME_ROOM, onlyGeneration } from '#stores';
import type { Backend } from './backend.js';
import { onFolder } from './folder.js';

const heapBytes = getHeapStatistics().heap_size_limit;
/** All names may take this much of the heap: the rest is for requests and reads. */
const namesShare = 1 / 3;

/** One process, one data folder, nothing else to install. */
export const embedded: Backend = {
  listensAtOnce: false,
  makesFirstKey: true,
  // About a fifth of what all names may take, so that one organization alone does not fill it in an hour.
  names: { sources: Math.floor(heapBytes / 16_384), series: Math.floor(heapBytes / 4096), tag_sets: Math.floor(heapBytes / 16_384) },
  checkpointMs: () => 10_000,
  async open({ dataDir, keepLogMs, keepPointsMs, keep1mMs, keep1hMs, keep1dMs, keepEventsMs }, clock, report) {
    const keep = { raw: keepPointsMs, '1m': keep1mMs, '1h': keep1hMs, '1d': keep1dMs };
    const { storage, backupStream } = await onFolder(async (folders) => ({
      ...folders,
      storage: await folders.openStorage(dataDir, { clock, keepLogMs, keep, keepEventsMs, keepsForOrganizations: true }),
    }));
    for (const warning of storage.warnings) report(warning);
    const needed = storage.dependencies.filter(({ isSpare }) => !isSpare);
    return {
      providers: [
        { provide: RECORD_LOG, useValue: storage.log },
        { provide: ONLY_PROCESS, useValue: true },
        { provide: VIEWS, useValue: storage.views },
        { provide: GENERATIONS, useValue: onlyGeneration(storage, storage.beforeDeletion) },
        { provide: NAME_ROOM, useValue: storage.room(namesShare * heapBytes) },
      ],
      metrics: storage.metrics,
      checks: needed.map(({ health }) => health),
      dependencies: storage.dependencies,
      opened: Promise.resolve(),
      backup: (signal) => backupStream(dataDir, signal),
      close: () => storage.close(),
      crash: () => storage.crash(),
    };
  },
};
