import type { Epoch } from './log/epochs.js';
import { WorkerThread } from './worker.js';

/** What the writing thread is told of the file. */
export interface StoreFile {
  readonly file: string;
  /** Of the log that the store is made from, oldest first; none for a store without a log. */
  readonly epochs: readonly Epoch[];
}

/** The two threads of the file that the stores share. Both begin to load their code when the object is created. */
export class StoreThreads {
  readonly writer = begun('./store-writer.worker.js');
  readonly reader = begun('./store-reader.worker.js');

  /**
   * Opens the file in both, first in the writer, which makes the file and its tables. Rejects `store_corrupt` when the file is damaged and
   * `store_unavailable` when it cannot be opened; both threads have ended then.
   */
  async open(store: StoreFile): Promise<this> {
    try {
      await this.writer.open(store);
      await this.reader.open(store.file);
      return this;
    } catch (cause) {
      await this.end();
      throw cause;
    }
  }

  /** Why one of them has ended, in one line; undefined while both live. */
  get ended(): string | undefined {
    return this.writer.ended ?? this.reader.ended;
  }

  /** Waits for the calls that were made before, then closes the file so that its write-ahead file is empty. */
  async close(): Promise<void> {
    try {
      await this.reader.call('close');
      await this.writer.call('close');
    } finally {
      await this.end();
    }
  }

  /** Ends both threads where they stand, as a crash would. */
  async end(): Promise<void> {
    await Promise.all([this.writer.terminate(), this.reader.terminate()]);
  }
}

const begun = (name: string): WorkerThread => new WorkerThread(new URL(name, import.meta.url), 'store_unavailable');
