import type { Epoch } from './log/epochs.js';
import { WorkerThread } from './worker.js';

/** What the writing thread is told of the file. */
export interface StoreFile {
  readonly file: string;
  /** Of the log that the store is made from, oldest first; none for a store without a log. */
  readonly epochs: readonly Epoch[];
}

/** The two threads of the file that the stores share. */
export interface StoreThreads {
  readonly writer: WorkerThread;
  readonly reader: WorkerThread;
}

/**
 * Starts them; the writer first, as it makes the file and its tables. Rejects `store_corrupt` when the file is damaged and
 * `store_unavailable` when it cannot be opened.
 */
export async function startStoreThreads(file: string, epochs: readonly Epoch[]): Promise<StoreThreads> {
  const writer = await startThread('./store-writer.worker.js', { file, epochs } satisfies StoreFile);
  try {
    return { writer, reader: await startThread('./store-reader.worker.js', file) };
  } catch (cause) {
    await writer.terminate();
    throw cause;
  }
}

async function startThread(name: string, workerData: unknown): Promise<WorkerThread> {
  const thread = new WorkerThread(new URL(name, import.meta.url), workerData, 'store_unavailable');
  try {
    await thread.call('ready');
    return thread;
  } catch (cause) {
    await thread.terminate();
    throw cause;
  }
}

/** Waits for what they were told before, then closes the file so that nothing of it is left in the write-ahead file. */
export async function closeStoreThreads({ writer, reader }: StoreThreads): Promise<void> {
  try {
    await reader.call('close');
    await writer.call('close');
  } finally {
    await endStoreThreads({ writer, reader });
  }
}

/** Ends them where they stand, as a crash would. */
export async function endStoreThreads({ writer, reader }: StoreThreads): Promise<void> {
  await Promise.all([writer.terminate(), reader.terminate()]);
}
