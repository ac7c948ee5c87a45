import { Inject, Injectable } from '@nestjs/common';
import type { Processor, StreamRecord } from '#log';
import { Lease, type PointBatch } from '#model';
import { SERIES_STORE, type SeriesStore } from '#stores';
import { points } from '#topics';
import { placed } from './placed.js';

/** Puts every numeric point into the series store. */
@Injectable()
export class SeriesProjector implements Processor<PointBatch> {
  readonly group = 'series';
  readonly inputs = [points];

  constructor(@Inject(SERIES_STORE) private readonly store: SeriesStore) {}

  process(records: readonly StreamRecord<PointBatch>[], lease: Lease): Promise<void> {
    return this.store.write(placed(records), lease);
  }

  checkpoint(): Promise<void> {
    return this.store.checkpoint();
  }
}
