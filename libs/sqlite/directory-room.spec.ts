import { expect, it } from '@jest/globals';
import type { View } from '#log';
import type { Source } from '#model';
import { DirectoryRoom } from './directory-room.js';
import { Directory } from './series/directory.js';

it('a directory has room until its names take as much memory as they may; known names are told from others', () => {
  const directory = new Directory({
    firstMetric: 1,
    metrics: [],
    ids: [],
    orgIds: [],
    sourceIds: [],
    pairs: new Uint32Array(0),
    ends: [],
    forgotten: [],
    lastSeries: 0,
  });
  const onlyEvents = new Map([['o/e', {}]]);
  const room = new DirectoryRoom(directory, onlyEvents as unknown as View<Source>, 100_000);
  let made = 0;
  const fill = (orgId: string): number => {
    const before = made;
    while (!room.isFull(orgId)) directory.series(directory.findOrMake(orgId, `s-${made++}`), 'm');
    return made - before;
  };
  const [most, rest] = [fill('o'), fill('q')];
  expect(most).toBeGreaterThan(50);
  expect(most).toBeLessThan(200);
  expect(rest).toBeGreaterThan(most / 5);
  expect(rest).toBeLessThan(most / 2);
  expect([room.hasSource('o', 's-0'), room.hasSource('o', 'e'), room.hasSource('o', 'x'), room.hasSource('p', 's-0')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([room.hasSeries('o', 's-0', 'm'), room.hasSeries('o', 's-0', 'n'), room.hasSeries('o', 'x', 'm')]).toEqual([true, false, false]);
});
