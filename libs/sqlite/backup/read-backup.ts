import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { DataFolderError } from '../data-folder.js';
import { heldPath, manifestOf } from './backup-folder.js';
import { isBackedUp, manifestName, maxManifestBytes, parseManifest, type BackupFile, type Manifest } from './manifest.js';
import { readTar, TarError } from './tar.js';
import type { Bytes } from './write-file.js';

/** Is given a file, and must read it to its end. */
export type Take = (name: string, bytes: Bytes) => Promise<void>;

/**
 * Reads a whole backup, in a folder or a tar file. What `take` was given counts only once this resolves.
 * Rejects DataFolderError when anything in the backup is missing, changed or too much.
 */
export function readBackup(backup: string, take: Take): Promise<Manifest> {
  const found = statSync(backup, { throwIfNoEntry: false });
  if (!found) throw new DataFolderError(`There is no backup ${backup}.`);
  return found.isDirectory() ? readFolder(backup, take) : readStream(createReadStream(backup, { highWaterMark: 256 << 10 }), backup, take);
}

async function readFolder(folder: string, take: Take): Promise<Manifest> {
  const manifest = manifestOf(folder);
  const checks = new Checks(folder);
  for (const file of manifest.files) {
    const path = heldPath(folder, file);
    if (!statSync(path, { throwIfNoEntry: false })) throw new DataFolderError(`${folder}: ${file.name} is missing, which was ${path}.`);
    await checks.take(file.name, createReadStream(path, { highWaterMark: 256 << 10 }), take);
  }
  checks.compare(manifest);
  return manifest;
}

/** Reads a backup that comes as a tar file. @param backup names it in messages. */
export async function readStream(chunks: AsyncIterable<Uint8Array>, backup: string, take: Take): Promise<Manifest> {
  const checks = new Checks(backup);
  let manifest: Manifest | undefined;
  try {
    for await (const { name, size, bytes } of readTar(chunks)) {
      if (manifest) throw new DataFolderError(`${backup}: ${name} follows its end.`);
      if (name !== manifestName) await checks.take(name, bytes, take);
      else if (size > maxManifestBytes) throw new DataFolderError(`${backup}: its ${manifestName} is too large.`);
      else manifest = parseManifest(await text(bytes), backup);
    }
  } catch (cause) {
    throw cause instanceof TarError ? new DataFolderError(`${backup} is no whole backup: ${cause.message}.`, { cause }) : cause;
  }
  if (!manifest) throw new DataFolderError(`${backup} has no ${manifestName}: it is no backup, or one that did not come to its end.`);
  checks.compare(manifest);
  return manifest;
}

/** Files as they were read, to be compared with what the manifest says. */
class Checks {
  readonly #read = new Map<string, Omit<BackupFile, 'name'>>();

  constructor(private readonly backup: string) {}

  async take(name: string, bytes: Bytes, take: Take): Promise<void> {
    if (!isBackedUp(name)) throw new DataFolderError(`${this.backup}: ${JSON.stringify(name)} is no file of a data folder.`);
    if (this.#read.has(name)) throw new DataFolderError(`${this.backup}: ${name} is in it twice.`);
    const hash = createHash('sha256');
    let size = 0;
    async function* hashed(): AsyncGenerator<Uint8Array> {
      for await (const piece of bytes) {
        hash.update(piece);
        size += piece.length;
        yield piece;
      }
    }
    await take(name, hashed());
    this.#read.set(name, { size, sha256: hash.digest('hex') });
  }

  compare({ files }: Manifest): void {
    const wrong = files.find(({ name, size, sha256 }) => {
      const read = this.#read.get(name);
      return read?.size !== size || read.sha256 !== sha256;
    });
    if (wrong) throw new DataFolderError(`${this.backup}: ${wrong.name} ${this.#read.has(wrong.name) ? 'has changed' : 'is missing'}.`);
    const named = new Set(files.map(({ name }) => name));
    const strange = this.#read.keys().find((name) => !named.has(name));
    if (strange !== undefined) throw new DataFolderError(`${this.backup}: ${strange} is in it and not in its ${manifestName}.`);
  }
}
