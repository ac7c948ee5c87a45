import { describe, expect, it } from '@jest/globals';
import { partitionOf } from '#log';
import type { Difference } from '#stores';
import { events, points } from '#topics';
import { mayBeDeletion } from './deleted-records.js';

const partition = (key: string): number => partitionOf(Buffer.from(key), points.partitions);
const cut = partition('o/cut');
const lows = (at: number): number[] => Array.from({ length: points.partitions }, (_, n) => (n === at ? 7 : 0));
const none = lows(-1);

describe('a difference', () => {
  it.each<[string, Difference['what'], string, string, string, boolean]>([
    ['that only the store has', 'raw', 'cut', 'nothing', 'value 1', true],
    ['of a bucket that sums up more', '1h', 'cut', 'count 1', 'count 2', true],
    ['of an event that came before too', 'events', 'cut', 'a, place 2', 'a, place 1', true],
    ['of a name that only the store has', 'metric names', 'cut', 'nothing', 'the name', true],
    ['of the value of a point', 'raw', 'cut', 'value 2', 'value 1', false],
    ['that the store lacks', '1h', 'cut', 'count 1', 'nothing', false],
    ['of a source in a partition that is whole', 'raw', 'whole', 'nothing', 'value 1', false],
  ])('%s: %s of %s, %s and %s, may come from deleted records: %s', (_, what, sourceId, expected, found, may) => {
    expect(partition('o/whole')).not.toBe(cut);
    const start = new Map([
      [points.name, lows(cut)],
      [events.name, lows(cut)],
    ]);
    expect(mayBeDeletion(start, { what, orgId: 'o', sourceId, expected, found })).toBe(may);
  });

  it('is seen by the topic that it came from', () => {
    const start = new Map([
      [points.name, none],
      [events.name, lows(cut)],
    ]);
    const of = (what: Difference['what']): boolean =>
      mayBeDeletion(start, { what, orgId: 'o', sourceId: 'cut', expected: 'nothing', found: 'x' });
    expect([of('raw'), of('1d'), of('metric names'), of('events')]).toEqual([false, false, false, true]);
  });
});
