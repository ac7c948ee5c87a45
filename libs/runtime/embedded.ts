import { RECORD_LOG, VIEWS } from '#log';
import { GENERATIONS, onlyGeneration } from '#stores';
import type { Backend } from './backend.js';
import { StartError } from './config.js';

/** One process, one data folder, nothing else to install. */
export const embedded: Backend = {
  listensAtOnce: false,
  makesFirstKey: true,
  checkpointMs: () => 10_000,
  async open({ dataDir }, _clock, report) {
    const { DataFolderError, openStorage } = await import('#sqlite');
    const storage = await openStorage(dataDir).catch((cause: unknown) => {
      throw cause instanceof DataFolderError ? new StartError(cause.message, { cause }) : cause;
    });
    for (const warning of storage.warnings) report(warning);
    const needed = storage.dependencies.filter(({ isSpare }) => !isSpare);
    return {
      providers: [
        { provide: RECORD_LOG, useValue: storage.log },
        { provide: VIEWS, useValue: storage.views },
        { provide: GENERATIONS, useValue: onlyGeneration(storage) },
      ],
      metrics: storage.metrics,
      checks: needed.map(({ health }) => health),
      dependencies: storage.dependencies,
      opened: Promise.resolve(),
      close: () => storage.close(),
      crash: () => storage.crash(),
    };
  },
};
