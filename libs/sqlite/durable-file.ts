import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Rights of a file: it may hold people's data or digests of keys. */
export const ownerOnly = 0o600;

/** Makes a file that only its owner reads, where there is none; SQLite gives the files that it makes beside one the same rights. */
export function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', ownerOnly));
}

/** Writes a small file whole: after a crash there is the old text or the new one, never a part. */
export function writeDurably(path: string, text: string): void {
  const fresh = `${path}.new`;
  const file = openSync(fresh, 'w', ownerOnly);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
  syncFolder(dirname(path));
}

/** Makes the names in a folder survive a crash. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
