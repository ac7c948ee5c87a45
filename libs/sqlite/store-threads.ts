import { WorkerThread } from './worker.js';

/** The two threads of the file that the stores share. */
export interface StoreThreads {
  readonly writer: WorkerThread;
  readonly reader: WorkerThread;
}

/**
 * Starts them; the writer first, as it makes the file and its tables. Rejects `store_corrupt` when the file is damaged and
 * `store_unavailable` when it cannot be opened.
 */
export async function startStoreThreads(file: string): Promise<StoreThreads> {
  const writer = await startThread('./store-writer.worker.js', file);
  try {
    return { writer, reader: await startThread('./store-reader.worker.js', file) };
  } catch (cause) {
    await writer.terminate();
    throw cause;
  }
}

async function startThread(name: string, file: string): Promise<WorkerThread> {
  const thread = new WorkerThread(new URL(name, import.meta.url), file, 'store_unavailable');
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
