import { crc32 } from 'node:zlib';
import { framesIn, type Batch } from './batch.js';
import { frameKey, isTombstone } from './frame.js';

/** Keys that are looked at together: the memory that this takes is bounded, whatever the number of keys. */
const keysAPass = 200_000;
const tombstoneMs = 24 * 3_600_000;

/**
 * The newest record of each key of compacted topics, in the order of their offsets. A tombstone that is a day old goes, because every reader has seen it.
 * Undefined is given after each piece that was looked at, so that the caller may do something else.
 * @param pieces reads all records, each time that it is called.
 * @param isDropped says which keys go with all of their records.
 */
export function* newestRecords(
  pieces: () => Iterable<readonly Batch[]>,
  nowMs: number,
  isDropped: (topic: string, key: string) => boolean = () => false,
): Generator<Batch | undefined> {
  let records = 0;
  for (const piece of pieces()) {
    for (const { n } of piece) records += n;
    yield undefined;
  }
  const isNewest = new Uint8Array(records);
  const passes = Math.ceil(records / keysAPass);
  for (let pass = 0; pass < passes; pass++) {
    const newest = new Map<string, number>();
    let at = 0;
    for (const piece of pieces()) {
      for (const batch of piece) {
        for (const { topic, frame } of framesIn(batch)) {
          const key = `${topic} ${frameKey(frame, 0)}`;
          if (passes === 1 || crc32(key) % passes === pass) newest.set(key, at);
          at++;
        }
      }
      yield undefined;
    }
    for (const place of newest.values()) isNewest[place] = 1;
  }
  let at = 0;
  for (const piece of pieces()) {
    for (const batch of piece) {
      for (const { offset, topic, frame } of framesIn(batch)) {
        const isOld = isTombstone(frame) && batch.ms < nowMs - tombstoneMs;
        if (isNewest[at++] === 0 || isOld || isDropped(topic, frameKey(frame, 0))) continue;
        yield { ...batch, first: offset, n: 1, frames: frame };
      }
    }
    yield undefined;
  }
}
