import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DataFolderError, lockFiles, takeLock, type FolderLock } from '../data-folder.js';
import { sync, writeDurably } from '../durable-file.js';
import { SealedFile, type Contents } from '../log/sealed-file.js';
import { manifestName, manifestText, parseManifest, type BackupFile, type Manifest } from './manifest.js';
import type { SnapshotFile } from './snapshot.js';
import { writeFile, type Bytes } from './write-file.js';

/** The folder, in that of a backup, whose files are named by the SHA-256 of what they hold. */
const heldName = 'files';
const unfinished = '.new';
const isUnfinished = (name: string): boolean => name.includes(unfinished);
const isHeld = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/**
 * A folder that has one whole backup, and takes the next: whenever that is ended, the last one stands. What both have is there once. A file is found by
 * what it holds, so no file of a backup is ever changed; the manifest is replaced when everything that it names is there.
 */
export class BackupFolder {
  readonly #held: string;
  readonly #lock: FolderLock;
  /** The files of the last backup, by name. */
  readonly #last: ReadonlyMap<string, BackupFile>;
  readonly #files: BackupFile[] = [];
  /** Of the files that were written. */
  bytes = 0;

  /** Makes the folder if need be. @throws DataFolderError when it has something else in it, or when another backup is being made. */
  constructor(private readonly folder: string) {
    this.#held = join(folder, heldName);
    const found = existsSync(folder) ? readdirSync(folder) : [];
    const strange = found.find((name) => ![heldName, manifestName, manifestName + unfinished, ...lockFiles].includes(name));
    if (strange !== undefined) throw new DataFolderError(`${folder} has ${strange} in it and so is no backup: name another folder.`);
    mkdirSync(this.#held, { recursive: true, mode: 0o700 });
    this.#last = new Map(found.includes(manifestName) ? lastFiles(manifestOf(folder)) : []);
    const lock = takeLock(folder);
    if (!lock) throw new DataFolderError(`Another backup into ${folder} is being made: wait for it, or name another folder.`);
    this.#lock = lock;
  }

  /** Where a file may stand until this is closed. */
  scratch(name: string): string {
    return join(this.#held, name + unfinished);
  }

  /** Whether the last backup has a file, which is kept then. Only those that never change are looked at, by the checksums in them. */
  keep({ name, size, contents }: SnapshotFile): boolean {
    const last = this.#last.get(name);
    if (!contents || last?.size !== size) return false;
    const path = heldPath(this.folder, last);
    if (statSync(path, { throwIfNoEntry: false })?.size !== size || !hasContents(path, contents)) return false;
    this.#files.push(last);
    return true;
  }

  async put(name: string, bytes: Bytes): Promise<void> {
    const fresh = this.scratch('file');
    const { size, sha256 } = await writeFile(fresh, bytes);
    renameSync(fresh, join(this.#held, sha256));
    this.#files.push({ name, size, sha256 });
    this.bytes += size;
  }

  /** From now on this is the backup. */
  finish(head: number, madeMs: number): Manifest {
    const manifest = { head, madeMs, files: this.#files };
    sync(this.#held);
    writeDurably(join(this.folder, manifestName), manifestText(manifest));
    const named = new Set(this.#files.map(({ sha256 }) => sha256));
    this.#remove((name) => isHeld(name) && !named.has(name));
    return manifest;
  }

  close(): void {
    try {
      this.#remove(isUnfinished);
    } finally {
      this.#lock.release();
    }
  }

  #remove(which: (name: string) => boolean): void {
    for (const name of readdirSync(this.#held)) if (which(name)) rmSync(join(this.#held, name));
  }
}

const lastFiles = (manifest: Manifest): readonly (readonly [string, BackupFile])[] => manifest.files.map((file) => [file.name, file]);

/** Whether two files that never change are the same, by the checksums of all that they hold. */
function hasContents(path: string, contents: Contents): boolean {
  try {
    return isDeepStrictEqual(new SealedFile(path, contents.first).contents(), contents);
  } catch {
    // It is damaged, or of another version: it is copied again.
    return false;
  }
}

/** The manifest of the backup in a folder. @throws DataFolderError when there is none, or when it is damaged. */
export function manifestOf(folder: string): Manifest {
  const path = join(folder, manifestName);
  if (!existsSync(path))
    throw new DataFolderError(`${folder} has no ${manifestName}: it is no backup, or one that did not come to its end.`);
  return parseManifest(readFileSync(path, 'utf8'), folder);
}

/** Where a file of the backup in a folder is. */
export const heldPath = (folder: string, { sha256 }: BackupFile): string => join(folder, heldName, sha256);
