import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withStoreFailures } from './store-failure.js';

describe('a failure of the store', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'headwater-failure-'))));
  afterEach(() => rm(folder, { recursive: true }));

  const failing = (work: () => unknown): (() => unknown) => {
    const handlers = withStoreFailures(() => ({ run: work }));
    handlers['open']!(undefined as never);
    return () => handlers['run']!(undefined as never);
  };

  it('is damage when the file is not a database', async () => {
    const file = join(folder, 'store.db');
    await writeFile(file, 'x'.repeat(8192));
    using db = new DatabaseSync(file);
    expect(failing(() => db.exec('CREATE TABLE t(a)'))).toThrow(expect.objectContaining({ code: 'store_corrupt' }));
  });

  it('is told to the first caller when the file cannot be opened', () => {
    const { open } = withStoreFailures(() => ({ read: new DatabaseSync(join(folder, 'none', 'store.db')) }) as never);
    expect(() => open!(undefined as never)).toThrow(expect.objectContaining({ code: 'store_unavailable' }));
  });

  it('is damage when a statement does not fit the tables, while it is opened', () => {
    using db = new DatabaseSync(':memory:');
    const { open } = withStoreFailures(() => ({ read: db.prepare('SELECT nothing') }) as never);
    expect(() => open!(undefined as never)).toThrow(expect.objectContaining({ code: 'store_corrupt' }));
  });

  it('passes when the disk is full', () => {
    using db = new DatabaseSync(':memory:');
    db.exec('CREATE TABLE t(a); PRAGMA max_page_count = 3');
    const fill = failing(() => db.exec('INSERT INTO t VALUES (randomblob(100000))'));
    const cause = expect.objectContaining({ message: 'the disk is full (ENOSPC)' });
    expect(fill).toThrow(expect.objectContaining({ code: 'store_unavailable', retryable: true, cause }));
  });

  it('passes when the file cannot be opened', () => {
    expect(failing(() => new DatabaseSync(join(folder, 'none', 'store.db')))).toThrow(
      expect.objectContaining({ code: 'store_unavailable' }),
    );
  });

  it('stays as it is when the statement is wrong', () => {
    using db = new DatabaseSync(':memory:');
    expect(failing(() => db.exec('SELECT nothing'))).toThrow(expect.objectContaining({ code: 'ERR_SQLITE_ERROR' }));
  });
});
