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

  it('gives the folder back when the store is damaged', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-storage-'));
    await writeFile(join(dir, 'store.db'), 'x'.repeat(8192));
    for (const attempt of [1, 2]) {
      await expect(openStorage(dir).then(() => attempt)).rejects.toMatchObject({ code: 'store_corrupt' });
    }
  });
});
