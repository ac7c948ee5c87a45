import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ownerOnly } from '../durable-file.js';

/** The bytes of a file, piece by piece. */
export type Bytes = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** The same bytes; `onProgress` hears of each piece. */
export async function* told(bytes: Bytes, onProgress: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    onProgress(piece.length);
    yield piece;
  }
}

/** Writes a file durably and gives its checksum. It stops after each piece. */
export async function writeFile(path: string, bytes: Bytes): Promise<{ readonly size: number; readonly sha256: string }> {
  const file = openSync(path, 'w', ownerOnly);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const piece of bytes) {
      hash.update(piece);
      for (let at = 0; at < piece.length;) at += writeSync(file, piece, at);
      size += piece.length;
      await setImmediate();
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return { size, sha256: hash.digest('hex') };
}
