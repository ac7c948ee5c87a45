import { beforeEach, expect, it } from '@jest/globals';
import { forever } from '#model';
import type { FollowOptions } from './follow.js';
import { partitionOf } from './partition.js';
import { isOfARecord } from './park.js';
import type { RecordLog } from './record-log.js';
import { maxKeys, Table } from './table.js';
import type { StreamRecord, Topic } from './topic.js';

/** So many partitions that each has room for two keys. */
const partitions = maxKeys / 2;
const topic = { name: 't.v1', cleanup: 'compact', partitions } as Topic<string>;
const partition = partitionOf(Buffer.from('a'), partitions);
/** Keys of the partition of `a`. */
const full = ['a'];
for (let at = 0; full.length < 4; at++) if (partitionOf(Buffer.from(`k${at}`), partitions) === partition) full.push(`k${at}`);
const [a, b, c, d] = full as [string, string, string, string];

let stored: StreamRecord[];
const log = {
  follow: ({ take }: FollowOptions) => {
    const taken = Promise.resolve(take(stored));
    return { caughtUp: () => taken, ageMs: () => 0, lag: () => 0, stop: () => Promise.resolve() };
  },
} as Pick<RecordLog, 'follow'> as RecordLog;
const aTable = async (...keys: readonly string[]): Promise<Table<string>> => {
  stored = keys.map((key, offset) => ({ topic, partition, offset, key, value: 'stored', headers: {} }) as unknown as StreamRecord);
  const table = new Table(log, topic);
  await table.begin(forever, [partition]);
  return table;
};
const refusal = (work: () => void): unknown => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
};
let table: Table<string>;
beforeEach(async () => void (table = await aTable(a, b)));

it('A partition that has its share of keys takes no new one, and the record that wants it is parked', () => {
  const error = refusal(() => table.set(c, 'new'));
  expect(error).toMatchObject({
    message: `the table of t.v1 is full: its partition ${partition} has 2 keys and takes a new one only when another one ends`,
  });
  expect([isOfARecord(error), table.get(c)]).toEqual([true, undefined]);
});

it('Known keys, and new ones of other partitions, are changed as before', () => {
  table.set(a, 'changed');
  table.set('other', 'new');
  expect([table.get(a), table.get('other')]).toEqual(['changed', 'new']);
});

it('A key that ends makes room for one new key, also when it has ended twice', () => {
  table.set(a, null);
  table.set(a, null);
  table.set(c, 'new');
  expect(table.get(c)).toBe('new');
  expect(refusal(() => table.set(d, 'new'))).toBeInstanceOf(RangeError);
});

it('All keys that are in the log are kept, however many', async () => {
  table = await aTable(...full);
  expect(full.map((key) => table.get(key))).toEqual(Array(4).fill('stored'));
  table.set(d, 'changed');
  expect(table.get(d)).toBe('changed');
});
