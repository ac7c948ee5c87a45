import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, jest } from '@jest/globals';
import { forever, tagsKey } from '#model';
import { eventStoreContract, type EventStoreUnderTest } from '#testing';
import { StoreThreads } from '../store-threads.js';
import type { WorkerThread } from '../worker.js';
import type { EventPart } from './event-reader.js';
import { SqliteEventStore } from './event-store.js';

async function openIn(folder: string): Promise<EventStoreUnderTest> {
  const threads = await new StoreThreads().open({ file: join(folder, 'store.db'), epochs: [] });
  return {
    store: new SqliteEventStore(threads.writer, threads.reader),
    crash: async () => {
      await threads.end();
      return openIn(folder);
    },
    close: async () => {
      await threads.close();
      await rm(folder, { recursive: true });
    },
  };
}

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'headwater-events-'));

describe('SqliteEventStore', () => {
  eventStoreContract(async () => openIn(await newFolder()));

  it.each([
    ['value', `value = 'shut'`],
    ['tags', `tags = '[["a","2"]]'`],
    ['time', 'time = time + 1'],
    ['receive time', 'received = received + 1'],
    ['place', 'place = place + 1'],
    ['metric', 'metric = metric + 1'],
  ])('says which row is damaged when its %s is not what was written', async (_, damage) => {
    const folder = await newFolder();
    const subject = await openIn(folder);
    const timestampMs = 1_700_000_000_000;
    const event = { metric: 'door', timestampMs, value: 'open', isJson: false, tags: tagsKey({ a: '1' }), place: 0, ordinal: 0 };
    const value = { orgId: 'org', sourceId: 's', receivedMs: timestampMs, origin: 'source' as const, events: [event] };
    await subject.store.write([{ partition: 0, offset: 0, value }], forever);
    using db = new DatabaseSync(join(folder, 'store.db'));
    db.exec(`UPDATE event SET ${damage}`);
    await expect(subject.store.tail('org', 's', 1)).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining('row 1 '),
    });
    await subject.close();
  });

  it('hands a long answer over in parts of about 1 MiB', async () => {
    const folder = await newFolder();
    const threads = await new StoreThreads().open({ file: join(folder, 'store.db'), epochs: [] });
    const chars: number[] = [];
    const call = async (name: string, argument: unknown): Promise<EventPart> => {
      const part = await threads.reader.call<EventPart>(name, argument);
      chars.push(part.value.join('').length);
      return part;
    };
    const store = new SqliteEventStore(threads.writer, { call } as unknown as WorkerThread);
    const timestampMs = 1_700_000_000_000;
    const events = Array.from({ length: 1000 }, (_, place) => {
      const value = `${place}`.padEnd(4000, '.');
      return {
        metric: 'door',
        timestampMs: timestampMs + place,
        value,
        isJson: false,
        tags: tagsKey({ a: `${place}` }),
        place,
        ordinal: 0,
      };
    });
    const value = { orgId: 'org', sourceId: 's', receivedMs: timestampMs, origin: 'source' as const, events };
    await store.write([{ partition: 0, offset: 0, value }]);
    const entries = await store.tail('org', 's', 1000);
    expect(entries.map((entry) => entry.value)).toEqual(events.map((event) => event.value));
    expect(entries[999]!.tags).toEqual({ a: '999' });
    expect(chars).toHaveLength(4);
    expect(Math.max(...chars)).toBeLessThan(1.1 * 1024 * 1024);
    await threads.close();
    await rm(folder, { recursive: true });
  });

  it('lets the event loop go on while it takes over a part of many entries', async () => {
    const count = 2000;
    const all = (value: string): string[] => Array.from({ length: count }, () => value);
    const times = Array.from({ length: count }, (_, at) => at);
    const part: EventPart = { timestampMs: times, metric: all('m'), value: all('v'), tags: all('[["a","1"]]'), answer: undefined };
    const reader = { call: () => Promise.resolve(part) } as unknown as WorkerThread;
    let passed = false;
    setImmediate(() => (passed = true));
    // However fast the machine is, the time of a step is over at each look at the clock.
    let nowMs = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1000));
    const entries = await new SqliteEventStore(reader, reader).tail('org', 's', count);
    clock.mockRestore();
    expect(entries.map(({ timestampMs }) => timestampMs)).toEqual(times);
    expect(passed).toBe(true);
  });
});
