import { serve, Transferred } from '../worker.js';
import { Snapshot, type StoreCopy } from './snapshot.js';
import { tarOf } from './tar-backup.js';

/** What is sent, and since when. */
export interface BackupTask {
  readonly dataFolder: string;
  readonly store: StoreCopy | undefined;
  readonly madeMs: number;
}

let pieces: Generator<Buffer>;

/** Reads and hashes what a server sends of its folder. The files that it has open are closed when it ends. */
serve({
  open: ({ dataFolder, store, madeMs }: BackupTask) => {
    pieces = tarOf(Snapshot.open(dataFolder, store), madeMs);
  },
  next: () => {
    const { value } = pieces.next() as { readonly value: Buffer | undefined };
    return value?.length === value?.buffer.byteLength && value ? new Transferred(value, [value.buffer as ArrayBuffer]) : value;
  },
});
