import { frameBytes, readFrame, type Frame } from './frame.js';

/** A record as it lies in the log. */
export interface Stored {
  readonly offset: number;
  readonly ms: number;
  readonly frame: Uint8Array;
}

/** Records of the log that a reader wants, in offset order. */
export interface ReadAnswer {
  readonly records: readonly Stored[];
  /** Where to read on; the head when there is no more. */
  readonly next: number;
}

/** Records on their way from the log's thread: each one's offset and time as doubles, then its frame. */
export interface Chunk {
  readonly bytes: ArrayBuffer;
  readonly next: number;
}

const headBytes = 16;

export function pack({ records, next }: ReadAnswer): Chunk {
  const bytes = new ArrayBuffer(records.reduce((sum, { frame }) => sum + headBytes + frame.length, 0));
  const into = Buffer.from(bytes);
  let at = 0;
  for (const { offset, ms, frame } of records) {
    into.writeDoubleLE(offset, at);
    into.writeDoubleLE(ms, at + 8);
    into.set(frame, at + headBytes);
    at += headBytes + frame.length;
  }
  return { bytes, next };
}

/** A record that has not been decoded. */
export type Raw = Frame & Pick<Stored, 'offset' | 'ms'>;

/** The records of a chunk; their values are views of its bytes. */
export function unpack({ bytes }: Chunk): Raw[] {
  const from = Buffer.from(bytes);
  const records: Raw[] = [];
  for (let at = 0; at < from.length; at += headBytes + frameBytes(from, at + headBytes)) {
    records.push({ offset: from.readDoubleLE(at), ms: from.readDoubleLE(at + 8), ...readFrame(from, at + headBytes) });
  }
  return records;
}
