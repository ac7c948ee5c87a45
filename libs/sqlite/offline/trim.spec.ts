import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { entry, readLog } from '#log';
import { processorsOf } from '#testing';
import { deletionOf, points, sources } from '#topics';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { openStorage } from '../storage.js';
import { catchUp } from './catch-up.js';
import { trim, type Trimmed } from './trim.js';
import { verify } from './verify.js';

const orgId = 'o';
const batch = (sourceId: string) => ({
  orgId,
  sourceId,
  receivedMs: 1,
  series: [{ metric: 'm', tags: '', timestampMs: Float64Array.of(1), value: Float64Array.of(1) }],
});

let dir: string;

/** Ids of the sources of points, by offset, and those in the list. */
async function left(): Promise<{ offsets: (readonly [number, string])[]; listed: string[] }> {
  const storage = await openStorage(dir);
  const offsets: (readonly [number, string])[] = [];
  await readLog(storage.log, {
    topics: [points],
    from: 'beginning',
    take: (records) => {
      for (const { offset, value } of records) if (value) offsets.push([offset, (value as { sourceId: string }).sourceId]);
    },
    unreadable: ({ offset }) => void offsets.push([offset, 'unreadable']),
  });
  const view = storage.views.open(sources);
  await view.ready;
  const listed = Array.from(view.scan(''), ([key]) => key);
  await storage.close();
  return { offsets: offsets.toSorted(([a], [b]) => a - b), listed };
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-trim-'));
  const storage = await openStorage(dir);
  for (const some of [
    ['pump-1', 'x-1'],
    ['x-2', 'x-3'],
    ['pump-2', 'x-4'],
  ]) {
    await storage.log.append(some.map((sourceId) => entry(points, batch(sourceId))));
    const seen = some.map((sourceId) => entry(sources, { orgId, sourceId, firstReceivedMs: 1, lastReceivedMs: 1 }));
    await storage.log.append(seen);
  }
  await storage.close();
});

const keeps = (sourceId: string): boolean => sourceId.startsWith('pump-');
const pumps = (options: { sinceMs?: number; confirmed: boolean }): Promise<Trimmed> => trim(dir, { keeps, sinceMs: undefined, ...options });

describe('a folder that is trimmed', () => {
  it('keeps what was asked for, at its offsets, and lists no other device', async () => {
    const before = await left();
    expect(await pumps({ confirmed: true })).toEqual({ gone: 4, kept: 2 });
    expect(statSync(join(dir, 'store.db'), { throwIfNoEntry: false })).toBeUndefined();
    const after = await left();
    expect(after.offsets).toEqual(before.offsets.filter(([, source]) => keeps(source)));
    expect(after.listed).toEqual(['o/pump-1', 'o/pump-2']);
    expect(await pumps({ confirmed: true })).toEqual({ gone: 0, kept: 2 });
  });

  it('keeps deletions of devices of which older records stay, so that what they have ended stays ended', async () => {
    const betweenMs = Date.now() + 60_000;
    const storage = await openStorage(dir, { clock: () => betweenMs + 1 });
    await storage.log.append([
      ...deletionOf({ orgId, sourceId: 'x-1' }, null, 1),
      entry(points, batch('x-2')),
      entry(points, batch('x-1')),
    ]);
    await storage.close();
    expect(await pumps({ sinceMs: betweenMs, confirmed: true })).toEqual({ gone: 2, kept: 8 });
    const trimmed = await openStorage(dir);
    await catchUp(trimmed.log, processorsOf(trimmed));
    expect(await trimmed.series.metricNames(orgId, 'x-1')).toEqual([]);
    expect(await trimmed.series.metricNames(orgId, 'x-2')).toEqual(['m']);
    await trimmed.close();
  });

  it('is a whole folder: the projections and the list of devices are made again, and nothing differs', async () => {
    await pumps({ confirmed: true });
    const storage = await openStorage(dir);
    await catchUp(storage.log, processorsOf(storage));
    expect(await storage.series.metricNames(orgId, 'pump-1')).toEqual(['m']);
    expect(await storage.series.metricNames(orgId, 'x-1')).toEqual([]);
    await storage.close();
    expect((await left()).listed).toEqual(['o/pump-1', 'o/pump-2']);
    expect(await verify(dir, projectorsOf)).toMatchObject({ differences: 0 });
  });

  it('is as it was where nobody confirms it', async () => {
    const before = await left();
    expect(await pumps({ confirmed: false })).toEqual({ gone: 4, kept: 2 });
    expect(await left()).toEqual(before);
  });

  it('keeps what came before a time', async () => {
    expect(await pumps({ sinceMs: Date.now() + 1000, confirmed: true })).toEqual({ gone: 0, kept: 6 });
    expect((await left()).offsets).toHaveLength(6);
  });

  it('takes more records after it, behind those that are left', async () => {
    await pumps({ confirmed: true });
    const storage = await openStorage(dir);
    await storage.log.append([entry(points, batch('pump-3'))]);
    await storage.close();
    const { offsets } = await left();
    expect(offsets.map(([, source]) => source)).toEqual(['pump-1', 'pump-2', 'pump-3']);
    expect(offsets[2]![0]).toBeGreaterThan(offsets[1]![0] + 1);
  });
});

it('a folder without a log is refused', async () => {
  await expect(trim(mkdtempSync(join(tmpdir(), 'headwater-trim-')), { keeps, sinceMs: undefined, confirmed: true })).rejects.toThrow(
    'there is nothing to trim',
  );
});
