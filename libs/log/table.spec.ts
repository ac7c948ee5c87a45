import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { forever, type Lease } from '#model';
import type { FollowOptions } from './follow.js';
import { partitionOf } from './partition.js';
import { isOfARecord } from './park.js';
import type { RecordLog } from './record-log.js';
import { maxAppended, maxHeldBytes, maxKeys, Table } from './table.js';
import type { Entry, StreamRecord, Topic } from './topic.js';

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
    return { caughtUp: () => taken, ageMs: () => 0, lag: () => 0, positions: () => [], stop: () => Promise.resolve() };
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

it('A value that is changed in place changes neither for the log that gave it nor for the one that takes it', async () => {
  type Counted = { count: number };
  const ofCounts = { name: 't.v1', cleanup: 'compact', partitions: 1, key: () => a } as unknown as Topic<Counted>;
  const given: Counted = { count: 1 };
  stored = [{ topic: ofCounts, partition: 0, offset: 0, key: a, value: given, headers: {} } as unknown as StreamRecord];
  const taken: Entry[] = [];
  const taking = { ...log, append: async (entries: readonly Entry[]) => void taken.push(...entries) } as RecordLog;
  const counts = new Table<Counted>(taking, ofCounts, { copied: (value) => ({ ...value }) });
  await counts.begin(forever, [0]);
  const increment = (): void => {
    const its = counts.get(a)!;
    its.count++;
    counts.set(a, its);
  };
  increment();
  await counts.write();
  increment();
  expect([given, taken.map(({ value }) => value), counts.get(a)]).toEqual([{ count: 1 }, [{ count: 2 }], { count: 3 }]);
});

describe('However many keys change all the time', () => {
  const wide = { name: 't.v1', cleanup: 'compact', partitions: 24, key: (key) => key } as Topic<string>;
  const names = (prefix: string, length: number): string[] => Array.from({ length }, (_, at) => `${prefix}${at}`);
  let appended: (readonly Entry[])[];
  let fails: boolean;
  let lease: Lease & { isLost: boolean };
  const keysOf = (entries: readonly Entry[]): string[] => entries.map(({ key }) => key);
  const written = (): string[] => appended.flatMap(keysOf);

  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    stored = [];
    appended = [];
    fails = false;
    lease = { isLost: false, held: () => !lease.isLost };
    const append = async (entries: readonly Entry[]): Promise<void> => {
      if (fails) throw new Error('full');
      appended.push(entries);
    };
    table = new Table({ ...log, append }, wide);
    await table.begin(lease, [...Array(24).keys()]);
  });
  afterEach(() => void jest.useRealTimers());

  /** Changes keys as the runner has a batch do, and lets time pass. */
  const change = async (keys: readonly string[], thenMs = 0): Promise<void> => {
    for (const key of keys) table.set(key, 'changed');
    await table.settle();
    await jest.advanceTimersByTimeAsync(thenMs);
  };

  it('each is written when it is new and then once in five seconds, in appends of a bounded size', async () => {
    const keys = names('k', 20_000);
    for (let batch = 0; batch < 26; batch++) await change(keys, 1_000);
    expect(written().length).toBe((1 + 5) * keys.length);
    expect(Math.max(...appended.map(({ length }) => length))).toBe(maxAppended);
  });

  it('a new one is written by itself, with its batch', async () => {
    const keys = names('k', 10_000);
    await change(keys);
    appended = [];
    for (let batch = 0; batch < 10; batch++) await change([...keys, `new${batch}`], 100);
    expect(written()).toEqual(names('new', 10));
  });

  it('none waits for longer than five seconds and a quarter, also when no batch follows', async () => {
    await change(['a', 'b']);
    appended = [];
    await change(['a'], 1_000);
    await change(['b'], 4_250);
    expect(written()).toEqual(['a']);
    await change([], 1_000);
    expect(written()).toEqual(['a', 'b']);
  });

  it('a checkpoint writes all of them, once', async () => {
    await change(['a', 'b']);
    await change(['a', 'b'], 1_000);
    appended = [];
    await table.write();
    await change([], 60_000);
    expect(appended.map(keysOf)).toEqual([['a', 'b']]);
  });

  it('what cannot be written is written with a later change', async () => {
    await change(['a', 'b']);
    fails = true;
    await change(['a'], 5_250);
    await expect(change(['c'])).rejects.toThrow('full');
    appended = [];
    fails = false;
    await change(['b'], 5_250);
    expect(written().toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('nothing is written any more under a lost lease, and nothing waits', async () => {
    await change(['a']);
    await change(['a']);
    appended = [];
    lease.isLost = true;
    await change([], 10_000);
    expect([written(), jest.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('Outputs that may be joined', () => {
  const own = { name: 't.v1', cleanup: 'compact', partitions: 1, key: (key) => key } as Topic<string>;
  const said = { name: 'said.v1', cleanup: 'delete', partitions: 1 } as Topic<string>;
  const output = (value: string): Entry => ({ topic: said, key: a, value });
  /** What each append writes, in order; of a record of the table the outputs that it holds. */
  let appended: string[];
  let work: () => void;

  const read = (bytes: string): string => Buffer.from(bytes, 'base64').toString();
  const append = async ([first]: readonly Entry[]): Promise<void> => {
    const held = JSON.parse(first!.headers?.['outputs'] ?? '[]') as readonly { readonly bytes: string }[];
    const text = first!.topic === said ? String(first!.value) : `held ${held.map(({ bytes }) => read(bytes)).join(' and ')}`;
    work();
    appended.push(text);
  };
  const encoded = ({ value }: { readonly value: unknown }): Uint8Array => Buffer.from(String(value));

  beforeEach(async () => {
    stored = [];
    appended = [];
    work = () => undefined;
    table = new Table({ ...log, append, encoded }, own, {
      joined: (earlier, later) => output(`${String(earlier.value)}+${String(later.value)}`),
    });
    await table.begin(forever, [0]);
  });

  it('are one where one record holds them', async () => {
    for (const value of ['1', '2', '3']) table.set(a, value, [output(value)]);
    await table.write();
    expect(appended).toEqual(['held 1+2+3', '1+2+3']);
  });

  it('are two where the second one comes while the first is written', async () => {
    table.set(a, '1', [output('1')]);
    work = () => {
      work = () => undefined;
      table.set(a, '2', [output('2')]);
    };
    await table.write();
    await table.write();
    expect(appended.filter((text) => text !== 'held ')).toEqual(['held 1', '1', 'held 2', '2']);
  });

  it('are one where the second one comes while the first cannot be written', async () => {
    table.set(a, '1', [output('1')]);
    work = () => {
      work = () => undefined;
      table.set(a, '2', [output('2')]);
      throw new Error('full');
    };
    await expect(table.write()).rejects.toThrow('full');
    await table.write();
    expect(appended).toEqual(['held 1+2', '1+2']);
  });

  it('have room until a record is full', () => {
    const large = 'x'.repeat(maxHeldBytes / 4);
    expect(table.hasRoom(a, [output(large)])).toBe(true);
    table.set(a, '1', [output(large)]);
    expect([large, `${large}${large}`].map((text) => table.hasRoom(a, [output(text)]))).toEqual([true, false]);
  });
});
