import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { draft, readFrame, writeFrame } from './frame.js';
import { LogFile, type Group } from './log-file.js';

const hourMs = 3_600_000;

/** A group of compacted records; no value is a tombstone. */
function group(keys: Readonly<Record<string, string | undefined>>): Group {
  const drafts = Object.entries(keys).map(([key, value]) =>
    draft({ topic: 't', partition: 0, key, headers: {}, value: value === undefined ? null : Buffer.from(value) }, key.length),
  );
  const frames = Buffer.alloc(drafts.reduce((sum, { bytes }) => sum + bytes, 0));
  drafts.reduce((at, one) => writeFrame(frames, at, one), 0);
  const bytes = frames.buffer.slice(frames.byteOffset, frames.byteOffset + frames.length);
  return { ms: 0, frames: bytes, kept: 0, keptBytes: 0, compacted: drafts.length, positions: [] };
}

const keysIn = (file: LogFile): string[] =>
  file.read({ from: 0, kept: [], compacted: ['t'] }).records.map(({ frame }) => readFrame(Buffer.from(frame), 0).key);

describe('the file of the log', () => {
  it('drops a tombstone when it is opened a day later, and not before', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'headwater-file-')), 'log.db');
    const first = new LogFile(path, 0);
    first.commit(group({ a: '1', b: '1' }));
    first.commit(group({ a: undefined }));
    first.commit(group({ c: '1' }));
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
    first.commit(group({ a: '1' }));
    first.commit(group({ a: undefined }));
    first.close();
    const second = new LogFile(path, 100 * hourMs);
    expect(second.head).toBe(2);
    second.close();
  });
});
