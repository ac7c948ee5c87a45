import { describe, expect, it } from '@jest/globals';
import { compare, type Compared, type StoredRow } from './compare.js';

const t = Date.UTC(2001, 1, 3);
const ab = '[["a","b"]]';
const point = (source: string, ...cells: unknown[]): StoredRow => ({ what: 'raw', row: [t, 'o', source, 'm', ...cells] });
const hour = (...cells: unknown[]): StoredRow => ({ what: '1h', row: [t, 'o', 's', 'm', ...cells] });
const event = (...cells: unknown[]): StoredRow => ({ what: 'events', row: [t, 'o', 's', 'm', ...cells] });
const name = (metric: string): StoredRow => ({ what: 'metric names', row: [0, 'o', 's', metric, 1] });

async function* rows(all: readonly StoredRow[]): AsyncGenerator<StoredRow> {
  yield* all;
}

async function visits(expected: readonly StoredRow[], found: readonly StoredRow[]): Promise<Compared[]> {
  const visited: Compared[] = [];
  for await (const one of compare(rows(expected), rows(found))) visited.push(one);
  return visited;
}

describe('rows of two generations', () => {
  it.each<[string, StoredRow, StoredRow]>([
    ['a point', point('s', null, 1.5), point('s', null, 1.5)],
    ['a bucket whose sum was made in another order', hour(1, 2, 3, 2), hour(1, 2, 3.000000001, 2)],
    ['a bucket whose sum left the doubles', hour(1e308, 1e308, 1.7e308, 4), hour(1e308, 1e308, 1.7e308, 4)],
    ['an event', event('d', 'open', '', 5, 3), event('d', 'open', '', 5, 3)],
    ['an event of tables that know no receive times', event('d', 'open', '', 5, 3), event('d', 'open', '', null, 2)],
    ['a name', name('m'), name('m')],
  ])('say the same: %s', async (_, expected, found) => {
    expect(await visits([expected], [found])).toMatchObject([{ what: expected.what, difference: undefined }]);
  });

  it.each<[string, StoredRow[], StoredRow[], [string, string][]]>([
    ['another value', [point('s', null, 1)], [point('s', null, 2)], [['value 1', 'value 2']]],
    [
      'another value with these tags',
      [point('s', ab, 1)],
      [point('s', ab, 2)],
      [['value 1, tags [["a","b"]]', 'value 2, tags [["a","b"]]']],
    ],
    [
      'a point with tags too few',
      [point('s', null, 1), point('s', ab, 1)],
      [point('s', null, 1)],
      [['value 1, tags [["a","b"]]', 'nothing']],
    ],
    [
      'other tags',
      [point('s', ab, 1)],
      [point('s', null, 1)],
      [
        ['nothing', 'value 1'],
        ['value 1, tags [["a","b"]]', 'nothing'],
      ],
    ],
    ['a point too few', [point('s', null, 1)], [], [['value 1', 'nothing']]],
    [
      'points of other sources',
      [point('a', null, 1), point('c', null, 3)],
      [point('b', null, 2), point('c', null, 3)],
      [
        ['value 1', 'nothing'],
        ['nothing', 'value 2'],
      ],
    ],
    ['another count', [hour(1, 2, 3, 2)], [hour(1, 2, 3, 3)], [['count 2, min 1, max 2, avg 1.5', 'count 3, min 1, max 2, avg 1']]],
    [
      'another avg',
      [hour(1, 2, 3, 2)],
      [hour(1, 2, 3.0001, 2)],
      [['count 2, min 1, max 2, avg 1.5', 'count 2, min 1, max 2, avg 1.50005']],
    ],
    [
      'another place',
      [event('d', 'open', '', 5, 3)],
      [event('d', 'open', '', 5, 4)],
      [['open, received 1970-01-01T00:00:00.005Z, place 3', 'open, received 1970-01-01T00:00:00.005Z, place 4']],
    ],
    [
      'another receive time',
      [event('d', 'open', '', 5, 3)],
      [event('d', 'open', '', 6, 3)],
      [['open, received 1970-01-01T00:00:00.005Z, place 3', 'open, received 1970-01-01T00:00:00.006Z, place 3']],
    ],
    [
      'another value without receive times',
      [event('d', 'open', '', null, 3)],
      [event('d', 'shut', '', 5, 3)],
      [['open, place 3', 'shut, received 1970-01-01T00:00:00.005Z, place 3']],
    ],
    [
      'another event of the same name and time',
      [event('d', 'open', '', null, 3)],
      [event('e', 'shut', '', null, 3)],
      [
        ['open, place 3', 'nothing'],
        ['nothing', 'shut, place 3'],
      ],
    ],
    ['a name too many', [], [name('m')], [['nothing', 'the name']]],
    ['a kind that ends sooner', [point('s', null, 1), name('m')], [name('m')], [['value 1', 'nothing']]],
    ['a row of nobody', [], [{ what: 'raw', row: [t, null, null, null, null, 1] }], [['nothing', 'value 1']]],
  ])('differ: %s', async (_, expected, found, told) => {
    const differences = (await visits(expected, found)).flatMap(({ difference }) => difference ?? []);
    expect(differences.map((one) => [one.expected, one.found])).toEqual(told);
    expect(new Set(differences.map(({ key }) => key)).size).toBe(told.length);
  });
});
