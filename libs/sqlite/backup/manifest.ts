import { createHash } from 'node:crypto';
import { logFolderName } from '../log/fault.js';
import { witnessFileName } from '../log/witness.js';
import { partitionCountsName } from '../partition-counts.js';
import { schemaFileName } from '../schema-file.js';
import { storeFileName } from '../store-file.js';
import { DataFolderError, formatFileName } from '../data-folder.js';

/** A file of the data folder, as a backup has it. */
export interface BackupFile {
  /** Where it is in the data folder, with `/` between folders. */
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/** What a backup has. It is written last, so that a backup that was ended has none. */
export interface Manifest {
  /** The offset after the last record of the log in it. */
  readonly head: number;
  readonly madeMs: number;
  readonly files: readonly BackupFile[];
}

export const manifestName = 'MANIFEST';
/** What a reader takes: a file of the log, of which there is one for some 64 MiB of records, takes about 150 bytes. */
export const maxManifestBytes = 64 << 20;

const version = 1;

/** JSON, and its checksum on a line of its own. */
export function manifestText({ head, madeMs, files }: Manifest): string {
  const text = `${JSON.stringify({ headwater_backup: version, head, made_ms: madeMs, files }, undefined, 1)}\n`;
  return `${text}${sha256(text)}\n`;
}

/** @throws DataFolderError when it is not whole, or when a newer version wrote it. */
export function parseManifest(whole: string, backup: string): Manifest {
  const at = whole.lastIndexOf('\n', whole.length - 2) + 1;
  const text = whole.slice(0, at);
  if (whole.slice(at) !== `${sha256(text)}\n`) throw new DataFolderError(`${backup}: its ${manifestName} fails its checksum.`);
  const { headwater_backup: written, head, made_ms: madeMs, files } = JSON.parse(text) as Record<string, unknown>;
  if (written !== version)
    throw new DataFolderError(`${backup} is of format ${String(written)} and this version knows ${version}: use the version that made it.`);
  if (![head, madeMs].every(Number.isSafeInteger) || !Array.isArray(files) || !files.every(isFile))
    throw new DataFolderError(`${backup}: its ${manifestName} is not one of ours.`);
  return { head: head as number, madeMs: madeMs as number, files };
}

const isFile = ({ name, size, sha256: sum }: BackupFile): boolean =>
  isBackedUp(name) && Number.isSafeInteger(size) && /^[0-9a-f]{64}$/.test(sum);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const single: readonly string[] = [
  formatFileName,
  schemaFileName,
  partitionCountsName,
  storeFileName,
  `${logFolderName}/${witnessFileName}`,
];
const ofLog = new RegExp(`^${logFolderName}/\\d{16}\\.(journal|sealed|newest)$`);

/** Whether a file of this name may be in a backup. No other name is ever written, so none can lead out of a folder. */
export const isBackedUp = (name: string): boolean => single.includes(name) || ofLog.test(name);
