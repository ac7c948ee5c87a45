import { expect, it } from '@jest/globals';
import type { View } from '#log';
import { type Accepted, atOnce, IngestParser, type Source } from '#model';
import { DirectoryRoom } from './directory-room.js';
import { Directory, type StoredNames } from './series/directory.js';
import type { OpenedNames } from './series/directory-rows.js';

/** In the store, source `stored` of organization o has metric m. */
const store: StoredNames = {
  sources: ({ sourceIds }) => {
    const isThere = sourceIds.map((sourceId) => sourceId === 'stored');
    let end = 0;
    return Promise.resolve({
      ids: Uint32Array.from(isThere, Number),
      pairs: Uint32Array.from(isThere.flatMap((its) => (its ? [1, 1] : []))),
      ends: Uint32Array.from(isThere, (its) => (end += 2 * Number(its))),
    });
  },
  fleet: () => Promise.reject(new Error('nobody asks for fleets')),
  checked: Promise.resolve(),
};
const nothing: OpenedNames = { metrics: [], makers: [], counts: [], lastSource: 0, lastSeries: 0 };
const onlyEvents = new Map([['o/e', {}]]) as unknown as View<Source>;

const body = (...names: readonly (readonly [sourceId: string, metric: string, value: number | string])[]): Accepted => {
  const points = names.map(([source_id, metric, value]) => ({
    source_id,
    metric,
    value,
    class: typeof value === 'string' ? 'event' : 'metric',
  }));
  return atOnce(new IngestParser().parse(Buffer.from(JSON.stringify({ points })), { orgId: 'o', receivedMs: 1 }));
};

/** Makes sources of one series until there is no room, and says how many. */
async function fill(directory: Directory, room: DirectoryRoom, orgId: string): Promise<number> {
  let made = 0;
  for (; !room.isFull(orgId); made++)
    await directory.with({ orgId, sourceId: `s-${made}` }, (source) => void directory.makeSeries(source, 'm'));
  return made;
}

it('one organization takes three quarters of the room, also when most of that is in the store only, and others the rest', async () => {
  const empty = new Directory(nothing, store, 1);
  const room = new DirectoryRoom(empty, onlyEvents, 100_000);
  const most = await fill(empty, room, 'o');
  expect(most).toBeGreaterThan(200);
  expect(most).toBeLessThan(260);
  expect(await fill(empty, room, 'q')).toBeLessThan(most / 2);

  const nameBytes = Array.from({ length: most - 10 }, (_, at) => `s-${at}`.length).reduce((sum, one) => sum + one, 0);
  const counts = [{ orgId: 'o', sources: most - 10, nameBytes, series: most - 10 }];
  const opened = new Directory({ metrics: ['m'], makers: ['o'], counts, lastSource: most, lastSeries: most }, store, 1);
  const left = await fill(opened, new DirectoryRoom(opened, onlyEvents, 100_000), 'o');
  expect(left).toBeGreaterThanOrEqual(10);
  expect(left).toBeLessThanOrEqual(12);
});

it.each<[string, Accepted, boolean]>([
  ['a source of the store', body(['stored', 'm', 1]), true],
  ['another metric of it', body(['stored', 'm', 1], ['stored', 'n', 1]), false],
  ['an event of it', body(['stored', 'x', 'text']), true],
  ['a source with nothing but events', body(['e', 'x', 'text']), true],
  ['points of that one', body(['e', 'm', 1]), false],
  ['a source in memory only', body(['s', 'm', 1], ['stored', 'm', 1]), true],
  ['one that nobody knows', body(['stored', 'm', 1], ['x', 'm', 1]), false],
])('names in the store are told from others: %s', async (_, accepted, isKnown) => {
  const counts = [{ orgId: 'o', sources: 1, nameBytes: 6, series: 1 }];
  const directory = new Directory({ metrics: ['m'], makers: ['o'], counts, lastSource: 1, lastSeries: 1 }, store);
  await directory.with({ orgId: 'o', sourceId: 's' }, (source) => void directory.makeSeries(source, 'm'));
  const room = new DirectoryRoom(directory, onlyEvents, 100_000);
  expect(await room.knows(accepted)).toBe(isKnown);
  expect(await room.knows(accepted)).toBe(isKnown);
});
