import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it } from '@jest/globals';
import { deadLettersOf, entry, type DeadLetter } from '#log';
import { events, points } from '#topics';
import { openStorage, type OpenedStorage } from '../storage.js';

const letters = deadLettersOf(events.name);
const batch = {
  orgId: 'o',
  sourceId: 's',
  receivedMs: 1,
  series: [{ metric: 'm', tags: '', timestampMs: Float64Array.of(1), value: Float64Array.of(1) }],
};

let dir: string;

async function opened<T>(work: (storage: OpenedStorage) => Promise<T>): Promise<T> {
  const storage = await openStorage(dir);
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}

const change = (sql: string): void => {
  using db = new DatabaseSync(join(dir, 'log.db'));
  db.exec(sql);
};

const park = ({ log }: OpenedStorage, n: number): Promise<void> =>
  log.appendBytes(letters, `o/${n}`, Uint8Array.of(n), {
    topic: events.name,
    partition: '0',
    offset: `${n}`,
    group: 'g',
    reason: 'why not',
  });

/** A letter, a record, two letters with a record, a record. */
const fill = async (storage: OpenedStorage): Promise<void> => {
  await park(storage, 1);
  await storage.log.append([entry(points, batch)]);
  await Promise.all([storage.log.append([entry(points, batch)]), park(storage, 2), park(storage, 3)]);
  await storage.log.append([entry(points, batch)]);
};

const newest = async ({ deadLetters }: OpenedStorage): Promise<readonly DeadLetter[]> => (await deadLetters.newest(events, 10)).newest;
const keys = async (storage: OpenedStorage): Promise<string[]> => (await newest(storage)).map(({ key }) => key);

/** What `/metrics` says of the letters of the events' topic. A storage counts once in 30 seconds. */
const waiting = (): Promise<number> =>
  opened(async ({ metrics }) => {
    const figures = await metrics.find(({ name }) => name === 'headwater_dead_letters')!.read();
    return (figures as readonly { labels: { topic: string }; value: number }[]).find(({ labels }) => labels.topic === letters)!.value;
  });

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-letters-'));
});

it('letters wait until they are sent back or deleted, and each is counted once', async () => {
  expect(await waiting()).toBe(0);
  await opened(fill);
  expect(await waiting()).toBe(3);
  await opened(async (storage) => storage.deadLetters.redrive(events, (await newest(storage))[1]!.offset));
  expect(await waiting()).toBe(2);
  await opened(({ deadLetters }) => deadLetters.redrive(events));
  expect(await waiting()).toBe(0);
  await opened((storage) => park(storage, 4));
  expect(await waiting()).toBe(1);
  await opened(({ deadLetters }) => deadLetters.purge(events, { confirmed: true }));
  expect(await waiting()).toBe(0);
});

it('letters are read without the records between them', async () => {
  await opened(fill);
  change("UPDATE batch SET body = x'00' WHERE first = 1");
  expect(await opened(keys)).toEqual(['o/1', 'o/2', 'o/3']);
});

it('letters that a version without the table has appended are found when the folder is opened', async () => {
  await opened(fill);
  change('DROP TABLE letter; DROP TABLE noted');
  expect([await opened(keys), await waiting()]).toEqual([['o/1', 'o/2', 'o/3'], 3]);
  await opened((storage) => park(storage, 4));
  // An older version goes on with the folder of a newer one, and notes neither its epoch nor its letters.
  change('DELETE FROM letter WHERE at = (SELECT max(start) FROM epoch); DELETE FROM noted WHERE epoch = (SELECT max(start) FROM epoch)');
  expect([await opened(keys), await waiting()]).toEqual([['o/1', 'o/2', 'o/3', 'o/4'], 4]);
});

it('a letter that is not where it should be is told as damage', async () => {
  await opened(fill);
  change('UPDATE letter SET at = at + 1 WHERE at = 0');
  await expect(opened(keys)).rejects.toMatchObject({
    code: 'log_corrupt',
    message: 'log.db is damaged: there is no dead letter at offset 1',
  });
});
