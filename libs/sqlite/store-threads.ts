import { WorkerThread } from './worker.js';

/** The two threads of the file that the stores share. */
export interface StoreThreads {
  readonly writer: WorkerThread;
  readonly reader: WorkerThread;
}

/** Starts them; the writer first, as it makes the file and its tables. Rejects `store_unavailable` when the file cannot be opened. */
export async function startStoreThreads(file: string): Promise<StoreThreads> {
  const writer = new WorkerThread(new URL('./store-writer.worker.js', import.meta.url), file, 'store_unavailable');
  await writer.call('ready');
  const reader = new WorkerThread(new URL('./store-reader.worker.js', import.meta.url), file, 'store_unavailable');
  await reader.call('ready');
  return { writer, reader };
}

/** Waits for what they were told before, then closes the file so that nothing of it is left in the write-ahead file. */
export async function closeStoreThreads({ writer, reader }: StoreThreads): Promise<void> {
  await reader.call('close');
  await writer.call('close');
  await endStoreThreads({ writer, reader });
}

/** Ends them where they stand, as a crash would. */
export async function endStoreThreads({ writer, reader }: StoreThreads): Promise<void> {
  await Promise.all([writer.terminate(), reader.terminate()]);
}
