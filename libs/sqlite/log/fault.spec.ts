import { expect, it } from '@jest/globals';
import { DatabaseSync } from 'node:sqlite';
import { inLog } from './fault.js';

it('names a disk without room', () => {
  using db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE t(a); PRAGMA max_page_count = 3');
  expect(() => inLog('writing from offset 7', () => db.exec('INSERT INTO t VALUES (randomblob(100000))'))).toThrow(
    expect.objectContaining({
      code: 'log_unavailable',
      message: expect.stringContaining('writing from offset 7 failed: the disk is full (ENOSPC)'),
    }),
  );
});
