import { DatabaseSync } from 'node:sqlite';
import { makePrivate } from './durable-file.js';

/** What SQLite answers when another connection holds the lock. */
const busy = 5;

/** A file that is locked until it is released or the process ends, even by a crash. */
export interface LockFile {
  release(): void;
}

/**
 * Takes the lock of a file, and makes the file if there is none. Undefined when this process or another has the lock. Throws when the file cannot be used.
 */
export function takeLock(file: string): LockFile | undefined {
  makePrivate(file);
  const lock = new DatabaseSync(file);
  try {
    // An exclusive transaction that never ends: the operating system frees it with the process, and it also keeps out our own threads.
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    if ((cause as { errcode?: number }).errcode === busy) return undefined;
    throw cause;
  }
  return { release: () => void (lock.isOpen && lock.close()) };
}
