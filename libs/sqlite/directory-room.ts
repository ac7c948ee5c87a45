import type { View } from '#log';
import type { Accepted, EventBatch, PointBatch, Source } from '#model';
import type { NameRoom } from '#stores';
import { sourceKey } from '#topics';
import type { Directory } from './series/directory.js';
import type { KnownSource } from './series/known-source.js';

/** Memory that a source takes in the view and in the table of `sources.v1` together, besides its name; measured. */
const listedBytes = 300;

/** What one organization may take of the room, so that it never takes all of it from the others. */
const share = 3 / 4;

/** The store is asked for so many sources at once. */
const askedAtOnce = 64;

/** Room for what sources and series of one data folder take in memory for as long as the store has them, whether they are active or not. */
export class DirectoryRoom implements NameRoom {
  constructor(
    private readonly directory: Pick<Directory, 'bytes' | 'bytesOf' | 'sources' | 'sourcesOf' | 'find' | 'with' | 'load'>,
    /** Has also the sources that sent nothing but events, which the directory does not know. */
    private readonly sources: View<Source>,
    private readonly maxBytes: number,
  ) {}

  isFull(orgId: string): boolean {
    const { directory } = this;
    // The view comes later than the directory.
    const bytes = directory.bytes + listedBytes * Math.max(this.sources.size, directory.sources);
    return bytes >= this.maxBytes || directory.bytesOf(orgId) + listedBytes * directory.sourcesOf(orgId) >= share * this.maxBytes;
  }

  knows({ points, events }: Pick<Accepted, 'points' | 'events'>): boolean | Promise<boolean> {
    const unsure: (PointBatch | EventBatch)[] = [];
    for (const batch of [...points, ...events.filter((its) => this.sources.get(sourceKey(its)) === undefined)]) {
      const source = this.directory.find(batch.orgId, batch.sourceId);
      if (!source) unsure.push(batch);
      else if (!hasAll(source, batch)) return false;
    }
    return unsure.length === 0 || this.#areStored(unsure);
  }

  async #areStored(batches: readonly (PointBatch | EventBatch)[]): Promise<boolean> {
    for (const [at, batch] of batches.entries()) {
      if (at % askedAtOnce === 0) await this.directory.load(batches.slice(at, at + askedAtOnce));
      if (!(await this.directory.with(batch, (source) => hasAll(source, batch)))) return false;
    }
    return true;
  }
}

const hasAll = (source: KnownSource, batch: PointBatch | EventBatch): boolean =>
  'series' in batch ? batch.series.every(({ metric }) => source.series(metric) !== undefined) : source.metrics.length > 0;
