import type { Headers } from '#log';

/** One record as bytes in the log's file: sizes, partition, then topic, key, headers as JSON, and the value. Numbers are little-endian. */
export interface Frame {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly headers: Headers;
  /** Encoded; null is a tombstone. */
  readonly value: Uint8Array | null;
}

const headBytes = 11;
const tombstoneBytes = 0xffff_ffff;
const noHeaders: Headers = Object.freeze({});

/** A frame that is yet to be written, with its sizes known. */
export interface Draft {
  readonly frame: Frame;
  readonly keyBytes: number;
  readonly headers: string;
  readonly bytes: number;
}

/** The headers that came last, which all records of a body share. */
let last = { of: noHeaders, text: '', bytes: 0 };

function headersOf({ headers }: Frame): typeof last {
  if (headers === last.of) return last;
  const text = Object.keys(headers).length === 0 ? '' : JSON.stringify(headers);
  return (last = { of: headers, text, bytes: Buffer.byteLength(text) });
}

/** @throws RangeError when the key or the headers are longer than 65,535 bytes or the topic's name than 255. */
export function draft(frame: Frame, keyBytes: number): Draft {
  const { text: headers, bytes: headersBytes } = headersOf(frame);
  if (keyBytes > 0xffff || headersBytes > 0xffff || frame.topic.length > 0xff) {
    throw new RangeError('a record has at most 65,535 bytes of key, 65,535 of headers and 255 of topic name');
  }
  const bytes = headBytes + frame.topic.length + keyBytes + headersBytes + (frame.value?.length ?? 0);
  return { frame, keyBytes, headers, bytes };
}

/** Writes a frame and returns where the next one begins. Topic names are ASCII. */
export function writeFrame(into: Buffer, at: number, { frame, keyBytes, headers, bytes }: Draft): number {
  into.writeUInt32LE(frame.value?.length ?? tombstoneBytes, at);
  into.writeUInt16LE(keyBytes, at + 4);
  into.writeUInt16LE(frame.partition, at + 6);
  into.writeUInt8(frame.topic.length, at + 10);
  let end = at + headBytes;
  end += into.write(frame.topic, end, 'latin1');
  end += into.write(frame.key, end);
  const headersBytes = headers === '' ? 0 : into.write(headers, end);
  into.writeUInt16LE(headersBytes, at + 8);
  if (frame.value) into.set(frame.value, end + headersBytes);
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

/** What takes the place of a frame whose record goes: its topic and partition, without a key and a value. */
export function blankFrame(frame: Buffer): Buffer {
  const blank = emptied(frame, 0);
  blank.writeUInt16LE(0, 4);
  return blank;
}

/** The tombstone of the record's key. */
export const tombstoneFrame = (frame: Buffer): Buffer => emptied(frame, frame.readUInt16LE(4));

function emptied(frame: Buffer, keyBytes: number): Buffer {
  const empty = Buffer.from(frame.subarray(0, headBytes + frame.readUInt8(10) + keyBytes));
  empty.writeUInt32LE(tombstoneBytes, 0);
  empty.writeUInt16LE(0, 8);
  return empty;
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
