import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Rights of a file: files may hold personal data or digests of keys. */
export const ownerOnly = 0o600;

/** Makes a file that only its owner can read, if there is none. SQLite gives the files that it makes beside it the same rights. */
export function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', ownerOnly));
}

/** Writes a small file whole: after a crash it has the old text or the new one, never a part. */
export function writeDurably(path: string, text: string): void {
  const fresh = `${path}.new`;
  writeFileSync(fresh, text, { mode: ownerOnly, flush: true });
  renameSync(fresh, path);
  sync(dirname(path));
}

/** Makes the content of a file, or the names in a folder, survive a power cut. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
