import type { Processor, StreamRecord } from '#log';
import type { Lease, PointBatch } from '#model';
import type { Generation } from '#stores';
import { points } from '#topics';
import { placed } from './placed.js';

/** Puts every numeric point into the series store of a generation. */
export class SeriesProjector implements Processor<PointBatch> {
  readonly group: string;
  readonly inputs = [points];

  constructor(private readonly generation: Pick<Generation, 'suffix' | 'series'>) {
    this.group = `series${generation.suffix}`;
  }

  process(records: readonly StreamRecord<PointBatch>[], lease: Lease): Promise<void> {
    return this.generation.series.write(placed(records), lease);
  }

  checkpoint(): Promise<void> {
    return this.generation.series.checkpoint();
  }
}
