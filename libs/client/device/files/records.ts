import { crc32 } from 'node:zlib';

/**
 * A segment is a file of records. A record is a mark, the length of its text, a checksum of all that follows, a place, a number of points, and
 * the text. Places count points from the first one that the folder ever held, so that a gap between two records tells how many points are lost.
 */
export interface StoredBatch {
  /** Points before it. */
  readonly place: number;
  readonly points: number;
  readonly text: string;
  readonly bytes: number;
}

export interface Segment {
  /** In file order; places ascend. */
  readonly batches: readonly StoredBatch[];
  /** Every point before this place was settled; undefined when no record says so. */
  readonly settled: number | undefined;
  /** The place after the last record; undefined when there is no whole record. */
  readonly end: number | undefined;
}

const mark = 0x4857_4231;
const markBytes = Uint8Array.of(0x48, 0x57, 0x42, 0x31);
export const headBytes = 24;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const batchRecord = (place: number, points: number, text: string): Uint8Array<ArrayBuffer> => record(place, points, text);

/** Says that every point before `settled` is settled. */
export const settledRecord = (place: number, settled: number): Uint8Array<ArrayBuffer> => record(place, 0, String(settled));

/** Reads what is whole, and passes over what is not: from there on it goes on with the next record whose checksum is right. */
export function readSegment(bytes: Uint8Array<ArrayBuffer>): Segment {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const batches: StoredBatch[] = [];
  let settled: number | undefined;
  let end: number | undefined;
  for (let at = 0; at >= 0 && at + headBytes <= bytes.length;) {
    const next = recordEnd(bytes, view, at);
    if (next === undefined) {
      at = nextMark(bytes, at + 1);
      continue;
    }
    const place = Number(view.getBigUint64(at + 12));
    const points = view.getUint32(at + 20);
    const text = decoder.decode(bytes.subarray(at + headBytes, next));
    if (points === 0) settled = Math.max(settled ?? 0, Number(text));
    // A record that stands twice, or an old one in a block that the disk has mixed up, is none.
    else if (end === undefined || place >= end) batches.push({ place, points, text, bytes: next - at - headBytes });
    end = Math.max(end ?? 0, place + points);
    at = next;
  }
  return { batches, settled, end };
}

function record(place: number, points: number, text: string): Uint8Array<ArrayBuffer> {
  const body = encoder.encode(text);
  const bytes = new Uint8Array(headBytes + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, mark);
  view.setUint32(4, body.length);
  view.setBigUint64(12, BigInt(place));
  view.setUint32(20, points);
  bytes.set(body, headBytes);
  view.setUint32(8, crc32(bytes.subarray(12)));
  return bytes;
}

function recordEnd(bytes: Uint8Array, view: DataView, at: number): number | undefined {
  const end = at + headBytes + view.getUint32(at + 4);
  const isWhole = view.getUint32(at) === mark && end <= bytes.length && crc32(bytes.subarray(at + 12, end)) === view.getUint32(at + 8);
  return isWhole ? end : undefined;
}

function nextMark(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(markBytes[0]!, from); at >= 0; at = bytes.indexOf(markBytes[0]!, at + 1)) {
    if (markBytes.every((byte, offset) => bytes[at + offset] === byte)) return at;
  }
  return -1;
}
