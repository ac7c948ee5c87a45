import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
