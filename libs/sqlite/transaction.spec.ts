import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseSync } from 'node:sqlite';
import { openStoreForWriting } from './store-file.js';
import { makeDurable, transaction, unsynced } from './transaction.js';

describe('work on the store', () => {
  let file: string;
  let db: DatabaseSync;
  beforeEach(() => {
    file = join(mkdtempSync(join(tmpdir(), 'headwater-transaction-')), 'store.db');
    db = openStoreForWriting(file);
    db.exec('CREATE TABLE t(a INT)');
  });
  afterEach(() => db.close());

  const rows = (): number => db.prepare('SELECT a FROM t').all().length;
  const full = 2;
  const synchronous = (): unknown => db.prepare('PRAGMA synchronous').get()!['synchronous'];

  it.each([transaction, unsynced])('%p keeps all of it and gives its result, or nothing when it throws', (run) => {
    const add = (): number => db.exec('INSERT INTO t VALUES (1)') ?? 7;
    expect(run(db, add)).toBe(7);
    expect(() =>
      run(db, () => {
        add();
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(rows()).toBe(1);
    expect(db.isTransaction).toBe(false);
    expect(synchronous()).toBe(full);
  });

  it('is not synced when it is told so, and synced by a commit of its own', () => {
    let during: unknown;
    unsynced(db, () => (during = synchronous()));
    expect(during).toBe(1);
    const before = statSync(`${file}-wal`).size;
    makeDurable(db);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(before);
  });
});
