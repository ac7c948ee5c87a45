import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { entry } from '#log';
import { sources } from '#topics';
import { openStorage } from './storage.js';

const source = { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 2 };

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

  it('is for its owner only, whatever the umask', async () => {
    const dir = join(await mkdtemp(join(tmpdir(), 'headwater-storage-')), 'data');
    const umask = process.umask(0);
    try {
      const storage = await openStorage(dir);
      await storage.log.append([entry(sources, source)]);
      const rights = (path: string): string => (statSync(path).mode & 0o777).toString(8);
      const files = readdirSync(dir).map((name) => [name, rights(join(dir, name))]);
      expect(Object.fromEntries(files)).toMatchObject({ 'log.db-wal': '600', 'store.db-wal': '600', 'log.head': '600', lock: '600' });
      expect([rights(dir), ...new Set(files.map(([, right]) => right))]).toEqual(['700', '600']);
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
