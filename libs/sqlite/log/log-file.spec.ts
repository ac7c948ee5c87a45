import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rowChecksum } from '../checksum.js';
import { encodedEntry, readFrame, writeFrame } from './frame.js';
import { LogFile, type Commit } from './log-file.js';

const hourMs = 3_600_000;

const topic = { name: 't', partitions: 1, cleanup: 'compact' } as const;

/** A commit of compacted records; no value is a tombstone. */
function commitOf(keys: Readonly<Record<string, string | undefined>>): Commit {
  const entries = Object.entries(keys).map(([key, value]) => encodedEntry(topic, key, {}, value === undefined ? null : Buffer.from(value)));
  const frames = Buffer.alloc(entries.reduce((sum, { bytes }) => sum + bytes, 0));
  entries.reduce((at, one) => writeFrame(frames, at, one), 0);
  const bytes = frames.buffer.slice(frames.byteOffset, frames.byteOffset + frames.length);
  return { ms: 0, frames: bytes, kept: 0, keptBytes: 0, compacted: entries.length, letters: [], positions: [] };
}

const keysIn = (file: LogFile): string[] =>
  file.read({ from: 0, kept: [], compacted: ['t'] }).frames.map(({ frame }) => readFrame(Buffer.from(frame), 0).key);

describe('the file of the log', () => {
  it('drops a tombstone when it is opened a day later, and not before', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'headwater-file-')), 'log.db');
    const first = new LogFile(path, 0);
    first.commit(commitOf({ a: '1', b: '1' }));
    first.commit(commitOf({ a: undefined }));
    first.commit(commitOf({ c: '1' }));
    first.close();
    for (const [hours, keys] of [
      [23, ['b', 'a', 'c']],
      [25, ['b', 'c']],
    ] as const) {
      const file = new LogFile(path, hours * hourMs);
      expect(keysIn(file)).toEqual(keys);
      file.close();
    }
  });

  it('keeps the newest record even so: no offset is given twice', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'headwater-file-')), 'log.db');
    const first = new LogFile(path, 0);
    first.commit(commitOf({ a: '1' }));
    first.commit(commitOf({ a: undefined }));
    first.close();
    const second = new LogFile(path, 100 * hourMs);
    expect(second.head).toBe(2);
    second.close();
  });
});

describe('the witness of how far a log was durable', () => {
  const unknown = expect.stringContaining('log.head is missing or damaged');
  const row = (head: number): Buffer => Buffer.from(new Float64Array([head, rowChecksum(new Uint8Array(), head)]).buffer);
  const changed = (at: number): ((bytes: Buffer) => Buffer) => {
    return (bytes) => Buffer.from(bytes.map((byte, place) => (place === at ? byte ^ 1 : byte)));
  };

  /** A log of three records whose witness was then changed; undefined removes it. */
  function witnessed(change: (bytes: Buffer) => Buffer | undefined): string {
    const dir = mkdtempSync(join(tmpdir(), 'headwater-witness-'));
    const file = new LogFile(join(dir, 'log.db'), 0);
    file.commit(commitOf({ a: '1', b: '1' }));
    file.commit(commitOf({ c: '1' }));
    file.close();
    const witness = join(dir, 'log.head');
    const bytes = change(readFileSync(witness));
    if (bytes) writeFileSync(witness, bytes);
    else rmSync(witness);
    return join(dir, 'log.db');
  }

  function open(path: string): unknown {
    const file = new LogFile(path, 0);
    file.close();
    return file.opened();
  }

  it.each([
    ['as it was', (bytes: Buffer) => bytes, undefined],
    ['behind, as after a power cut', () => row(2), undefined],
    ['longer than it should be', (bytes: Buffer) => Buffer.concat([bytes, bytes]), undefined],
    ['not there', () => undefined, unknown],
    ['empty, as after a power cut', () => Buffer.alloc(0), unknown],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, 9), unknown],
    ['all zeros', () => Buffer.alloc(16), unknown],
    ...Array.from({ length: 16 }, (_, at) => [`with byte ${at} changed`, changed(at), unknown] as const),
  ] as const)('that is %s never keeps a whole log from opening, and is told of once', (_, change, warning) => {
    const path = witnessed(change);
    expect([open(path), open(path)]).toMatchObject([
      { head: 3, warning },
      { head: 3, warning: undefined },
    ]);
  });

  it('that knows of more records than there are is told as damage', () => {
    const path = witnessed(() => row(5));
    const says = 'it ends at offset 3, and records up to 4 were acknowledged; to go on without them, remove log.head';
    expect(() => open(path)).toThrow(says);
    expect(() => open(path)).toThrow(says);
  });
});
