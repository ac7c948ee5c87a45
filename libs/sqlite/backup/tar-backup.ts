import { createHash } from 'node:crypto';
import { manifestName, manifestText, type BackupFile } from './manifest.js';
import type { Snapshot } from './snapshot.js';
import { tarEnd, tarHeader, tarPadding } from './tar.js';
import { ownerOnly } from '../durable-file.js';

/** A snapshot as a tar file, piece by piece, with its manifest as the last file. */
export function* tarOf(snapshot: Snapshot, madeMs: number): Generator<Buffer> {
  const files: BackupFile[] = [];
  for (const { name, size, bytes } of snapshot.files) {
    yield tarHeader(name, size, ownerOnly, madeMs);
    const hash = createHash('sha256');
    for (const piece of bytes()) {
      hash.update(piece);
      yield piece;
    }
    yield tarPadding(size);
    files.push({ name, size, sha256: hash.digest('hex') });
  }
  snapshot.checkLog();
  const manifest = Buffer.from(manifestText({ head: snapshot.head, madeMs, files }));
  yield tarHeader(manifestName, manifest.length, ownerOnly, madeMs);
  yield Buffer.concat([manifest, tarPadding(manifest.length), tarEnd()]);
}
