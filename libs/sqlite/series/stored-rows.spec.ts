import { expect, it } from '@jest/globals';
import { intervalMs, RollupRows } from '#model';
import { type BlockRow, BlockWriter } from './block.js';
import { writeRows } from './rows.js';
import { StoredRows } from './stored-rows.js';

const run = 1;
const key = 7;
const minuteMs = intervalMs['1m'];

/** One row of each kind, in a block of its own. */
function storedKinds(count: number): { readonly blocks: readonly BlockRow[]; readonly rows: RollupRows } {
  const rows = new RollupRows();
  rows.fold(minuteMs, Float64Array.of(minuteMs), Float64Array.of(5), 0, 1);
  const blocks: BlockRow[] = [];
  for (let kind = 0; kind < count; kind++) {
    const writer = new BlockWriter(run, kind, (row) => blocks.push(row));
    writeRows(writer, key, rows, 0, 1);
    writer.flush();
  }
  return { blocks, rows };
}

it.each<[string, number, readonly number[], readonly number[]]>([
  ['one kind again and again', 1, [0, 0, 0], [0]],
  ['two kinds by turns, both kept', 2, [0, 1, 0, 1], [0, 1]],
  ['two kinds by turns, one kept', 1, [0, 1, 0, 1], [0, 1, 0, 1]],
  ['three kinds, the newest two kept', 2, [0, 1, 2, 1, 2, 0], [0, 1, 2, 0]],
])('blocks of few kinds are kept in memory: %s', (_, maxCursors, asked, loaded) => {
  const { blocks, rows } = storedKinds(3);
  const searched: number[] = [];
  const search = (_run: number, kind: number): BlockRow => {
    searched.push(kind);
    return blocks[kind]!;
  };
  const stored = new StoredRows(search, run, maxCursors);
  for (const kind of asked) {
    const found = new RollupRows();
    stored.read(kind, { blocks: 1, last: blocks[kind]!.last }, key, minuteMs, 0, 1e15, found);
    expect([found.length, found.sum[0]]).toEqual([1, rows.sum[0]]);
  }
  expect(searched).toEqual(loaded);
});
