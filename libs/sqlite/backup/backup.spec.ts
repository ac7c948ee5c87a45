import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { processorsOf, Random, until } from '#testing';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { verify } from '../offline/verify.js';
import { openTestLog } from '../open-test-log.js';
import { openStorage } from '../storage.js';
import { backup } from './backup.js';
import { restore } from './restore.js';
import { copyStore, Snapshot, type SnapshotFile } from './snapshot.js';
import { aFolder, contentsOf, filesOf, journalBytes, lastOf, newFolder, nth, tinyJournalBytes } from '../test-folder.js';

const kinds = ['folder', 'monday.tar'];

describe.each(kinds)('a backup as %s', (name) => {
  it('of a stopped server is restored to the same folder', async () => {
    const dir = await aFolder(processorsOf);
    const [to, restored] = [join(newFolder(), name), join(newFolder(), 'deep', 'data')];
    await backup({ data: dir }, to);
    await restore(to, restored);
    const before = contentsOf(dir);
    // What SQLite keeps beside the store of a stopped server is empty.
    for (const beside of ['store.db-wal', 'store.db-shm']) delete before[beside];
    const after = contentsOf(restored);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    for (const one of [before, after]) delete one['store.db'];
    expect(after).toEqual(before);
    for (const path of [to, restored]) expect(statSync(path).mode & 0o077).toBe(0);
    expect(await verify(restored, projectorsOf)).toMatchObject({ differences: 0, warnings: [], sources: 7 });
  });

  it('of a log that is appended to, sealed and compacted meanwhile is a log of one moment, with all that was acknowledged', async () => {
    const random = new Random(7);
    const dir = newFolder();
    const live = await openTestLog(dir, tinyJournalBytes);
    const stop = new AbortController();
    let acknowledged = 0;
    const appending = (async () => {
      while (!stop.signal.aborted) {
        await live.log.append(nth(acknowledged + 1));
        acknowledged++;
      }
    })();
    const to = join(newFolder(), name);
    await until('the newest values were written', () => filesOf(dir, 'newest').length > 0);
    for (let round = 0; round < 3; round++) {
      const goal = acknowledged + random.whole(1, 150);
      await until('more is acknowledged', () => acknowledged >= goal);
      const before = acknowledged;
      await backup({ data: dir }, to);
      const restored = join(newFolder(), 'data');
      await restore(to, restored);
      const copy = await openTestLog(restored);
      expect(await lastOf(copy)).toBeGreaterThanOrEqual(before);
      expect(copy.log.warning).toBeUndefined();
      await copy.close();
    }
    stop.abort();
    await appending;
    await live.close();
  });
});

it.each(kinds)('of two backups at once as %s one is made', async (name) => {
  const dir = await aFolder(processorsOf, 1);
  const to = join(newFolder(), name);
  const [one, other] = await Promise.allSettled([backup({ data: dir }, to), backup({ data: dir }, to)]);
  expect([one.status, (other as PromiseRejectedResult).reason?.message]).toEqual([
    'fulfilled',
    expect.stringContaining('is being made: wait for it'),
  ]);
});

describe('a backup in a folder', () => {
  it('copies of what never changes only what is new, and keeps nothing that is not in it any more', async () => {
    const dir = await aFolder(processorsOf);
    const to = join(newFolder(), 'backup');
    const sealed = filesOf(dir, 'sealed').map((path) => `log/${basename(path)}`);
    const sizeOf = (files: readonly { readonly size: number }[]): number => files.reduce((sum, { size }) => sum + size, 0);
    const first = await backup({ data: dir }, to);
    expect(first.written).toBe(sizeOf(first.files));
    const inode = (name: string): number => statSync(join(to, 'files', name)).ino;
    const before = new Map(first.files.map(({ sha256 }) => [sha256, inode(sha256)]));

    const log = await openTestLog(dir, journalBytes);
    for (let n = 401; n <= 500; n++) await log.log.append(nth(n));
    await log.close();
    const second = await backup({ data: dir }, to);
    const kept = second.files.filter(({ sha256 }) => before.get(sha256) === inode(sha256));
    expect(kept.map(({ name }) => name)).toEqual(expect.arrayContaining(sealed));
    expect(second.written).toBe(sizeOf(second.files) - sizeOf(kept));
    expect(readdirSync(join(to, 'files')).toSorted()).toEqual([...new Set(second.files.map(({ sha256 }) => sha256))].toSorted());
  });

  it('takes no other folder', async () => {
    const dir = await aFolder(processorsOf, 1);
    await expect(backup({ data: dir }, dir)).rejects.toThrow(/has FORMAT in it and so is no backup: name another folder/);
  });
});

describe('a snapshot', () => {
  const opened = async (dir: string, next?: number): Promise<Snapshot> => {
    const copy = await copyStore(dir, join(newFolder(), 'copy'));
    return Snapshot.open(dir, next === undefined ? copy : { ...copy!, next });
  };
  const sha256 = ({ bytes }: SnapshotFile): string => {
    const hash = createHash('sha256');
    for (const piece of bytes()) hash.update(piece);
    return hash.digest('hex');
  };

  it('has what it was taken of, whatever vanishes meanwhile', async () => {
    const dir = await aFolder(processorsOf);
    using snapshot = await opened(dir);
    const before = snapshot.files.map(sha256);
    rmSync(dir, { recursive: true });
    expect(snapshot.files.map(sha256)).toEqual(before);
    expect(() => snapshot.checkLog()).not.toThrow();
  });

  it('is no backup when somebody writes the log anew meanwhile', async () => {
    const dir = await aFolder(processorsOf);
    using snapshot = await opened(dir);
    const [path] = filesOf(dir, 'sealed') as [string];
    copyFileSync(path, `${path}.new`);
    renameSync(`${path}.new`, path);
    expect(() => snapshot.checkLog()).toThrow(/0000000000000000\.sealed was written anew while it was copied/);
  });

  it('may begin behind the first record, but not behind what the store lacks', async () => {
    const dir = await aFolder(processorsOf);
    rmSync(filesOf(dir, 'sealed')[0]!);
    using snapshot = await opened(dir);
    expect(snapshot.files.map(({ name }) => name)).not.toContain('log/0000000000000000.sealed');
    await expect(opened(dir, 1)).rejects.toThrow(/has forgotten records while they were copied: begin the backup again/);
  });
});

describe('a log that goes on from a backup', () => {
  it('has another history from there on than the one that the backup was made of', async () => {
    const dir = await aFolder(processorsOf);
    const to = join(newFolder(), 'backup.tar');
    const live = await openStorage(dir);
    await live.log.append(nth(401));
    const { head } = await backup({ data: dir }, to);
    const [one, other] = [join(newFolder(), 'data'), join(newFolder(), 'data')];
    const histories = [await live.log.history()];
    await live.log.append(nth(402));
    for (const folder of [one, other]) {
      await restore(to, folder);
      const restored = await openStorage(folder);
      await restored.log.append(nth(402));
      histories.push(await restored.log.history());
      await restored.close();
    }
    await live.close();
    expect(new Set(histories.map((history) => history(head))).size).toBe(1);
    expect(new Set(histories.map((history) => history(head + 1))).size).toBe(3);
  });
});

it('a folder of no server, or of another version, is not backed up', async () => {
  const to = join(newFolder(), 'backup.tar');
  await expect(backup({ data: newFolder() }, to)).rejects.toThrow(/is not a data folder of a server/);
  expect(existsSync(to)).toBe(false);
});
