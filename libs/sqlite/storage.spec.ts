import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { entry } from '#log';
import { processorsOf, until } from '#testing';
import { points, sources } from '#topics';
import { catchUp } from './offline/catch-up.js';
import { openStorage, type Storage } from './storage.js';

const source = { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 2, heardIn: 'points' as const };

describe('a storage', () => {
  it.each(['close', 'crash'] as const)('can be opened again after %s and holds what was acknowledged', async (end) => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-storage-'));
    const first = await openStorage(dir);
    await first.log.append([entry(sources, source)]);
    await expect(openStorage(dir)).rejects.toThrow('is in use');
    await first[end]();
    await expect(first.log.append([entry(sources, source)])).rejects.toMatchObject({ code: 'log_unavailable' });

    const second = await openStorage(dir);
    const view = second.views.open(sources);
    await view.ready;
    expect(view.get('o/s')).toEqual(source);
    await second.close();
  });

  const healthOf = ({ dependencies }: Storage): string | undefined => dependencies.find(({ id }) => id === 'data_folder')!.health();

  it('takes nothing once its folder is deleted or replaced, and says so', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-storage-'));
    const storage = await openStorage(dir);
    await storage.log.append([entry(sources, source)]);
    expect(healthOf(storage)).toBeUndefined();
    await rename(dir, `${dir}.moved`);
    for (const make of [async () => undefined, () => mkdir(dir), () => mkdir(join(dir, 'log'))]) {
      await make();
      await expect(storage.log.append([entry(sources, source)])).rejects.toMatchObject({ code: 'log_unavailable' });
      expect(healthOf(storage)).toMatch(/^The log cannot be written: .*\.journal was deleted or replaced/);
    }
    await until('the folder is missed', () => healthOf(storage)!.startsWith('The data folder was deleted or replaced'));
    await storage.crash();
  });

  it('says when a thread has ended', async () => {
    const storage = await openStorage(await mkdtemp(join(tmpdir(), 'headwater-storage-')));
    await storage.crash();
    expect(healthOf(storage)).toBe('A thread of the storage has ended: the thread has ended. Restart the server.');
  });

  it('opens with damaged names of series, and says then what to do', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-storage-'));
    const first = await openStorage(dir);
    const run = { metric: 'm', tags: '', timestampMs: Float64Array.of(1), value: Float64Array.of(1) };
    await first.log.append([entry(points, { orgId: 'o', sourceId: 's', receivedMs: 1, series: [run] })]);
    await catchUp(first.log, processorsOf(first));
    await first.checked;
    expect(healthOf(first)).toBeUndefined();
    await first.close();
    const db = new DatabaseSync(join(dir, 'store.db'));
    db.exec(`UPDATE source SET name = 'x'`);
    db.close();
    const storage = await openStorage(dir);
    await expect(storage.checked).rejects.toMatchObject({ code: 'store_corrupt' });
    expect(healthOf(storage)).toMatch(/ Stop the server, and restore the folder or run `headwater rebuild`\.$/);
    await storage.crash();
  });

  it('tells how much room its disk has', async () => {
    const storage = await openStorage(await mkdtemp(join(tmpdir(), 'headwater-storage-')));
    const disk = storage.metrics.filter(({ name }) => name.startsWith('headwater_disk_'));
    const figures = (): unknown[] => disk.map((metric) => metric.read());
    await until('it has looked', () => figures().every((figure) => typeof figure === 'number'));
    const [free, size] = figures() as number[];
    expect(free).toBeGreaterThan(0);
    expect(size).toBeGreaterThan(free!);
    await storage.close();
  });

  it('is for its owner only, whatever the umask', async () => {
    const dir = join(await mkdtemp(join(tmpdir(), 'headwater-storage-')), 'data');
    const umask = process.umask(0);
    try {
      const storage = await openStorage(dir);
      await storage.log.append([entry(sources, source)]);
      await until('the witness has noted it', () => existsSync(join(dir, 'log', 'head')));
      const rights = (path: string): string => (statSync(path).mode & 0o777).toString(8);
      const inside = readdirSync(join(dir, 'log')).map((name) => join('log', name));
      const files = [...readdirSync(dir), ...inside].map((name) => [name, rights(join(dir, name))]);
      expect(Object.fromEntries(files)).toMatchObject({ 'log/head': '600', 'store.db-wal': '600', lock: '600', log: '700' });
      expect([rights(dir), new Set(files.map(([, right]) => right))]).toEqual(['700', new Set(['600', '700'])]);
      await storage.close();
    } finally {
      process.umask(umask);
    }
  });

  it('gives the folder back when the store is damaged', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-storage-'));
    await writeFile(join(dir, 'store.db'), 'x'.repeat(8192));
    for (const attempt of [1, 2]) {
      await expect(openStorage(dir).then(() => attempt)).rejects.toMatchObject({ code: 'store_corrupt' });
    }
  });
});
