import { TelemetryError } from '#model';
import { eventWriter } from './events/event-writer.js';
import { Positions, type GroupPosition } from './log/positions.js';
import { seriesWriter } from './series/writer.js';
import { openStoreForWriting, writeFormat } from './store-file.js';
import { withStoreFailures } from './store-failure.js';
import { StoreOrigin } from './store-origin.js';
import type { StoreFile } from './store-threads.js';
import { makeDurable, unsynced } from './transaction.js';
import { serve } from './worker.js';

/** The only thread that writes the store's file. */
serve(
  withStoreFailures(({ file, epochs }: StoreFile) => {
    const db = openStoreForWriting(file);
    const origin = new StoreOrigin(db, epochs);
    const took = (next: number): void => origin.took(next);
    const positions = new Positions(db, (place) => new TelemetryError('store_corrupt', `The store is damaged: ${place}.`));
    const handlers = {
      ...seriesWriter(db, took),
      ...eventWriter(db, took),
      'positions.of': (group: string) => positions.of(group),
      'positions.move': (moved: readonly GroupPosition[]) =>
        unsynced(db, () => {
          took(Math.max(...moved.map(({ next }) => next)));
          positions.move(moved);
        }),
      'positions.settle': () => makeDurable(db),
      close: () => db.close(),
    };
    writeFormat(db);
    return handlers;
  }),
);
