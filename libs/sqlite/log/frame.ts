import { partitionOf, type AnyTopic, type Entry, type Headers } from '#log';

/** One record as bytes in the log's file: sizes, partition, then topic, key, headers as JSON, and the value. Numbers are little-endian. */
interface Frame {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly headers: Headers;
  /** Encoded; null is a tombstone. */
  readonly value: Uint8Array | null;
}

/** An entry with everything that its frame needs: what is appended has this form until its frame is written. */
export interface EncodedEntry extends Frame {
  readonly keyBytes: number;
  readonly headersText: string;
  /** What its frame takes. */
  readonly bytes: number;
  readonly isCompacted: boolean;
  /** Undefined for bytes that are appended without a look inside. */
  readonly entry: Entry | undefined;
}

const headBytes = 11;
const tombstoneBytes = 0xffff_ffff;
export const noHeaders: Headers = Object.freeze({});
const keyBuffer = Buffer.allocUnsafe(3 * 0xffff);

/** The headers that came last, which all records of a body share. */
let last = { of: noHeaders, text: '', bytes: 0 };

function textOf(headers: Headers): typeof last {
  if (headers === last.of) return last;
  const json = JSON.stringify(headers);
  const text = json === '{}' ? '' : json;
  return (last = { of: headers, text, bytes: Buffer.byteLength(text) });
}

/** @throws RangeError when the key or the headers are longer than 65,535 bytes or the topic's name than 255. */
export function encodedEntry(
  { name: topic, partitions, cleanup }: Pick<AnyTopic, 'name' | 'partitions' | 'cleanup'>,
  key: string,
  headers: Headers,
  value: Uint8Array | null,
  entry?: Entry,
): EncodedEntry {
  const keyBytes = keyBuffer.write(key);
  const { text: headersText, bytes: headersBytes } = textOf(headers);
  if (keyBytes > 0xffff || headersBytes > 0xffff || topic.length > 0xff) {
    throw new RangeError('a record has at most 65,535 bytes of key, 65,535 of headers and 255 of topic name');
  }
  const partition = partitionOf(keyBuffer, partitions, keyBytes);
  const bytes = headBytes + topic.length + keyBytes + headersBytes + (value?.length ?? 0);
  return { topic, partition, key, headers, value, keyBytes, headersText, bytes, isCompacted: cleanup === 'compact', entry };
}

/** Writes the frame of an entry and returns where the next one begins. Topic names are ASCII. */
export function writeFrame(into: Buffer, at: number, { topic, partition, key, value, keyBytes, headersText, bytes }: EncodedEntry): number {
  into.writeUInt32LE(value?.length ?? tombstoneBytes, at);
  into.writeUInt16LE(keyBytes, at + 4);
  into.writeUInt16LE(partition, at + 6);
  into.writeUInt8(topic.length, at + 10);
  let end = at + headBytes;
  end += into.write(topic, end, 'latin1');
  end += into.write(key, end);
  const headersBytes = headersText === '' ? 0 : into.write(headersText, end);
  into.writeUInt16LE(headersBytes, at + 8);
  if (value) into.set(value, end + headersBytes);
  return at + bytes;
}

/** How many bytes the frame at `at` takes. */
export function frameBytes(from: Buffer, at: number): number {
  const value = from.readUInt32LE(at);
  return (
    headBytes + from.readUInt8(at + 10) + from.readUInt16LE(at + 4) + from.readUInt16LE(at + 8) + (value === tombstoneBytes ? 0 : value)
  );
}

export function frameTopic(from: Buffer, at: number): string {
  return from.toString('latin1', at + headBytes, at + headBytes + from.readUInt8(at + 10));
}

export function frameKey(from: Buffer, at: number): string {
  const keyAt = at + headBytes + from.readUInt8(at + 10);
  return from.toString('utf8', keyAt, keyAt + from.readUInt16LE(at + 4));
}

/** Whether the record says that its key is gone. */
export const isTombstone = (frame: Buffer): boolean => frame.readUInt32LE(0) === tombstoneBytes;

/** What takes the place of a frame whose record goes: its topic and partition, without a key, headers and a value. */
export function blankFrame(frame: Buffer): Buffer {
  const blank = Buffer.from(frame.subarray(0, headBytes + frame.readUInt8(10)));
  blank.writeUInt32LE(tombstoneBytes, 0);
  blank.writeUInt16LE(0, 4);
  blank.writeUInt16LE(0, 8);
  return blank;
}

/** Reads a frame; its value is a view of `from`. */
export function readFrame(from: Buffer, at: number): Frame {
  const valueBytes = from.readUInt32LE(at);
  const keyAt = at + headBytes + from.readUInt8(at + 10);
  const headersAt = keyAt + from.readUInt16LE(at + 4);
  const valueAt = headersAt + from.readUInt16LE(at + 8);
  return {
    topic: frameTopic(from, at),
    partition: from.readUInt16LE(at + 6),
    key: from.toString('utf8', keyAt, headersAt),
    headers: headersAt === valueAt ? noHeaders : (JSON.parse(from.toString('utf8', headersAt, valueAt)) as Headers),
    value: valueBytes === tombstoneBytes ? null : from.subarray(valueAt, valueAt + valueBytes),
  };
}

/** Which records a reader wants, in offset order. */
export interface ChunkRequest {
  readonly from: number;
  /** The head: what is behind it may not be durable yet. */
  readonly to: number;
  /** Names of topics that keep all records. */
  readonly kept: readonly string[];
  /** Names of compacted topics. */
  readonly compacted: readonly string[];
}

/** A frame with the offset of its record and when that was appended, Unix milliseconds. */
export interface StoredFrame {
  readonly offset: number;
  readonly ms: number;
  readonly frame: Uint8Array;
}

/** Frames that a reader wants, in offset order. */
export interface StoredFrames {
  readonly frames: readonly StoredFrame[];
  /** Where to read on; the head when there is no more. */
  readonly next: number;
}

/** The same on their way from the log's thread: each one's offset and time as doubles, then its frame. */
export interface Chunk {
  readonly bytes: ArrayBuffer;
  readonly next: number;
}

const placeBytes = 16;

export function chunkOf({ frames, next }: StoredFrames): Chunk {
  const bytes = new ArrayBuffer(frames.reduce((sum, { frame }) => sum + placeBytes + frame.length, 0));
  const into = Buffer.from(bytes);
  let at = 0;
  for (const { offset, ms, frame } of frames) {
    into.writeDoubleLE(offset, at);
    into.writeDoubleLE(ms, at + 8);
    into.set(frame, at + placeBytes);
    at += placeBytes + frame.length;
  }
  return { bytes, next };
}

/** A record that has not been decoded. */
export type RawRecord = Frame & Pick<StoredFrame, 'offset' | 'ms'>;

/** The records of a chunk; their values are views of its bytes. */
export function recordsOf({ bytes }: Chunk): RawRecord[] {
  const from = Buffer.from(bytes);
  const records: RawRecord[] = [];
  for (let at = 0; at < from.length; at += placeBytes + frameBytes(from, at + placeBytes)) {
    records.push({ offset: from.readDoubleLE(at), ms: from.readDoubleLE(at + 8), ...readFrame(from, at + placeBytes) });
  }
  return records;
}
