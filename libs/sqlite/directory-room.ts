import type { View } from '#log';
import type { Source } from '#model';
import type { NameRoom } from '#stores';
import { sourceKey } from '#topics';
import type { Directory } from './series/directory.js';

/** Memory that a source takes in the view and in the table of `sources.v1` together, besides its name; measured. */
const listedBytes = 300;

/** What one organization may take of the room, so that it never takes all of it from the others. */
const share = 3 / 4;

/** Room for the sources and series of one data folder, all of which are in the memory of the process that has it open. */
export class DirectoryRoom implements NameRoom {
  constructor(
    private readonly directory: Pick<Directory, 'bytes' | 'bytesOf' | 'find'>,
    /** Has also the sources that sent nothing but events, which the directory does not know. */
    private readonly sources: View<Source>,
    private readonly maxBytes: number,
  ) {}

  isFull(orgId: string): boolean {
    const bytes = this.directory.bytes + listedBytes * this.sources.size;
    return bytes >= this.maxBytes || this.directory.bytesOf(orgId) >= share * this.maxBytes;
  }

  hasSource(orgId: string, sourceId: string): boolean {
    return this.directory.find(orgId, sourceId) !== undefined || this.sources.get(sourceKey({ orgId, sourceId })) !== undefined;
  }

  hasSeries(orgId: string, sourceId: string, metric: string): boolean {
    return this.directory.find(orgId, sourceId)?.series(metric) !== undefined;
  }
}
