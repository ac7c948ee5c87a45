import { frameBytes, frameTopic } from './frame.js';

/** `kept` when all records of a topic stay, `compacted` when only the newest of each key does. */
export type Kind = 'kept' | 'compacted';

const kinds: readonly Kind[] = ['kept', 'compacted'];

/** Records of one kind that were appended together. Their offsets follow each other. */
export interface Batch {
  readonly kind: Kind;
  /** Offset of the first record. */
  readonly first: number;
  readonly n: number;
  /** When they were appended, Unix milliseconds. */
  readonly ms: number;
  /** The frames of the records, one after the other. */
  readonly frames: Buffer;
}

/** What stands before the frames: kind, number of records, bytes of the frames, first offset, time. */
export const batchHeadBytes = 25;

/** Writes what stands before the frames and returns where they begin. */
export function writeBatchHead(into: Buffer, at: number, { kind, n, first, ms }: Omit<Batch, 'frames'>, bytes: number): number {
  into.writeUInt8(kinds.indexOf(kind), at);
  into.writeUInt32LE(n, at + 1);
  into.writeUInt32LE(bytes, at + 5);
  into.writeDoubleLE(first, at + 9);
  into.writeDoubleLE(ms, at + 17);
  return at + batchHeadBytes;
}

/** The batches that stand one after the other in some bytes; their frames are views of these. */
export function* batchesIn(bytes: Buffer): Generator<Batch> {
  for (let at = 0; at < bytes.length;) {
    const from = at + batchHeadBytes;
    const to = from + bytes.readUInt32LE(at + 5);
    yield {
      kind: kinds[bytes.readUInt8(at)]!,
      n: bytes.readUInt32LE(at + 1),
      first: bytes.readDoubleLE(at + 9),
      ms: bytes.readDoubleLE(at + 17),
      frames: bytes.subarray(from, to),
    };
    at = to;
  }
}

/** The offset after the last record. */
export const endOf = ({ first, n }: Pick<Batch, 'first' | 'n'>): number => first + n;

/** The frames of a batch, each with its offset and topic. */
export function* framesIn({
  first,
  n,
  frames,
}: Batch): Generator<{ readonly offset: number; readonly topic: string; readonly frame: Buffer }> {
  let at = 0;
  for (let offset = first; offset < first + n; offset++) {
    const end = at + frameBytes(frames, at);
    yield { offset, topic: frameTopic(frames, at), frame: frames.subarray(at, end) };
    at = end;
  }
}
