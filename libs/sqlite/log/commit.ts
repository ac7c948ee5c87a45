import { crc32 } from 'node:zlib';
import { batchesIn, batchHeadBytes, writeBatchHead, type Batch, type Kind } from './batch.js';
import { writeFrame, type EncodedEntry } from './frame.js';
import type { Change } from './log-state.js';

/** Entries of one kind that are appended together. */
export interface Part {
  readonly kind: Kind;
  readonly first: number;
  readonly ms: number;
  readonly entries: readonly EncodedEntry[];
}

/** What is written at once: all of it is in the log, or nothing. */
export interface Commit {
  readonly batches: readonly Batch[];
  readonly change: Change;
}

/** What stands before a commit: how many bytes follow, and their checksum. */
export const commitHeadBytes = 8;
const changeHeadBytes = 4;

const framesBytes = (entries: readonly EncodedEntry[]): number => {
  let sum = 0;
  for (const { bytes } of entries) sum += bytes;
  return sum;
};

/** Where a commit stands in its file. */
export interface CommitPlace {
  /** Of the checksums of the file, so that bytes which a client sent can never pass for a commit. */
  readonly seed: number;
  /** In bytes from the front, so that a commit counts nowhere else. */
  readonly at: number;
}

const seedAt = ({ seed, at }: CommitPlace): number => (seed + at) >>> 0;

export function encodeCommit(place: CommitPlace, parts: readonly Part[], change?: Change): Buffer {
  const text = change ? JSON.stringify(change) : '';
  const changeBytes = Buffer.byteLength(text);
  const sizes = parts.map(({ entries }) => framesBytes(entries));
  const batches = sizes.reduce((sum, bytes) => sum + batchHeadBytes + bytes, 0);
  const commit = Buffer.allocUnsafe(commitHeadBytes + changeHeadBytes + changeBytes + batches);
  commit.writeUInt32LE(commit.length - commitHeadBytes, 0);
  let at = commit.writeUInt32LE(changeBytes, commitHeadBytes);
  at += commit.write(text, at);
  for (const [n, { kind, first, ms, entries }] of parts.entries()) {
    at = writeBatchHead(commit, at, { kind, n: entries.length, first, ms }, sizes[n]!);
    for (const entry of entries) at = writeFrame(commit, at, entry);
  }
  commit.writeUInt32LE(crc32(commit.subarray(commitHeadBytes), seedAt(place)), 4);
  return commit;
}

/** The commit in some bytes, from behind its head; undefined when they are not what was written. */
export function decodeCommit(place: CommitPlace, crc: number, bytes: Buffer): Commit | undefined {
  if (bytes.length < changeHeadBytes || crc32(bytes, seedAt(place)) !== crc) return undefined;
  const batchesAt = changeHeadBytes + bytes.readUInt32LE(0);
  const text = bytes.toString('utf8', changeHeadBytes, batchesAt);
  return { batches: [...batchesIn(bytes.subarray(batchesAt))], change: text === '' ? {} : (JSON.parse(text) as Change) };
}
