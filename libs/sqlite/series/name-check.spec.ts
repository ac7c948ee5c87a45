import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { readNames, writeDirectory } from './directory-rows.js';
import { NameCheck } from './name-check.js';
import { createSeriesTables } from './writer.js';

const sources = 600;

/** A store of sources with two series each: source n has series 2n - 1 and 2n, of metrics 1 and 2. */
function aStore(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  createSeriesTables(db);
  const ids = Array.from({ length: sources }, (_, at) => at + 1);
  writeDirectory(db, {
    firstMetric: 1,
    metrics: ['a', 'b'],
    makers: ['o', 'p'],
    ids,
    orgIds: ids.map((id) => (id % 3 === 0 ? 'p' : 'o')),
    sourceIds: ids.map((id) => `s-${id}`),
    pairs: Uint32Array.from(ids.flatMap((id) => [1, 2 * id - 1, 2, 2 * id])),
    ends: ids.map((id) => 4 * id),
    forgotten: [],
  });
  return db;
}

/** Looks at all names, and says what is found in how many slices. */
function look(db: DatabaseSync): { readonly metricOf: readonly number[]; readonly slices: number } {
  const metricOf: number[] = [];
  const check = new NameCheck(db, readNames(db, 0), (pairs) => {
    for (let at = 0; at < pairs.length; at += 2) metricOf[pairs[at + 1]!] = pairs[at]!;
  });
  let slices = 1;
  while (check.step(0)) slices++;
  return { metricOf, slices };
}

it('names are counted without a look at them, and then looked at in slices', () => {
  const db = aStore();
  const bytesOf = (isIts: (id: number) => boolean): number =>
    Array.from({ length: sources }, (_, at) => at + 1)
      .filter(isIts)
      .reduce((sum, id) => sum + `s-${id}`.length, 0);
  expect(readNames(db, 0)).toEqual({
    metrics: ['a', 'b'],
    makers: ['o', 'p'],
    counts: [
      { orgId: 'o', sources: 400, nameBytes: bytesOf((id) => id % 3 !== 0), series: 800 },
      { orgId: 'p', sources: 200, nameBytes: bytesOf((id) => id % 3 === 0), series: 400 },
    ],
    lastSource: sources,
    lastSeries: 2 * sources,
  });
  const { metricOf, slices } = look(db);
  expect(slices).toBe(3);
  expect(metricOf.slice(1)).toEqual(Array.from({ length: 2 * sources }, (_, at) => 1 + (at % 2)));
});

describe('names are not what was written when', () => {
  it.each([
    ['the first source is lost', 'DELETE FROM source WHERE id = 1'],
    ['many are lost', 'DELETE FROM source WHERE id % 2 = 0'],
    ['one has another name', `UPDATE source SET name = 's-x' WHERE id = 300`],
    ['one is of another organization', `UPDATE source SET org = 'q' WHERE id = 600`],
    ['one has other series', 'UPDATE source SET series = zeroblob(16) WHERE id = 2'],
    ['a metric is lost that sources have', 'DELETE FROM metric WHERE id = 2'],
    ['a metric is said to be of another organization', `UPDATE metric_maker SET org = 'q' WHERE id = 2`],
  ])('%s', (_, damage) => {
    const db = aStore();
    db.exec(damage);
    expect(() => look(db)).toThrow(expect.objectContaining({ code: 'store_corrupt' }));
  });
});
