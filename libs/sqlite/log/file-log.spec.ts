import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { entry, readLog, type Entry, type StreamRecord } from '#log';
import type { EventBatch } from '#model';
import {
  claimsContract,
  decisionsContract,
  groupsContract,
  keysContract,
  LogConsumer,
  recordLogContract,
  runnerContract,
  until,
  viewsContract,
} from '#testing';
import { events, sources } from '#topics';
import { filesIn } from './log-folder.js';
import { openTestLog, type TestLog } from '../open-test-log.js';

describe('the log in files', () => {
  recordLogContract(() => openTestLog());
});

describe('its views', () => {
  viewsContract(() => openTestLog());
});

describe('its groups', () => {
  groupsContract(() => openTestLog());
});

describe('a runner on it', () => {
  runnerContract(() => openTestLog());
});

describe('keys in it', () => {
  keysContract(() => openTestLog());
});

describe('claims in it', () => {
  claimsContract(() => openTestLog(), true);
});

describe('what people change in it', () => {
  decisionsContract(() => openTestLog());
});

describe('of a log in the same process', () => {
  let subject: TestLog;
  beforeEach(async () => void (subject = await openTestLog()));
  afterEach(() => subject.close());

  const saying = (n: number, kilobytes = 1): Entry<EventBatch> =>
    entry(events, {
      orgId: 'o',
      sourceId: 's',
      receivedMs: 1,
      origin: 'source',
      events: Array.from({ length: kilobytes }, (_, place) => {
        return { metric: 'said', timestampMs: 1 + n, value: 'x'.repeat(1000), isJson: false, tags: '', place, ordinal: 0 };
      }),
    });
  const seen = (sourceId: string, lastReceivedMs: number): Entry =>
    entry(sources, { orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs });
  const numbers = (records: readonly StreamRecord[]): number[] =>
    records.map(({ value }) => (value as EventBatch).events[0]!.timestampMs - 1);

  it('views and consumers that keep up have a record when its append resolves, as the very value', async () => {
    const view = subject.views.open(sources);
    await view.ready;
    const given: StreamRecord[] = [];
    const handler = async (records: readonly StreamRecord[]): Promise<void> => void given.push(...records);
    await subject.log.consume({ group: 'g', topics: [events], handler, unreadable: () => Promise.resolve(), stopped: () => {} });
    for (let n = 0; n < 50; n++) {
      const sent = saying(n);
      await subject.log.append([sent, seen('s', n)]);
      expect(given.at(-1)!.value).toBe(sent.value);
      expect(view.get('o/s')!.lastReceivedMs).toBe(n);
    }
  });

  it('appends are refused while too much waits to be written, and taken again afterwards', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => subject.log.append([saying(n, 4_000)])));
    const refusals = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as unknown);
    expect(refusals.length).toBeGreaterThan(10);
    expect(refusals.length).toBeLessThan(30);
    for (const reason of refusals) expect(reason).toMatchObject({ code: 'overloaded', retryAfterS: 1 });
    await subject.log.append([saying(40)]);
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
    await consumer.has(41 - refusals.length);
  });

  it('many records are encoded and handed over a few at a time, and everything else has its turn between them', async () => {
    let [turn, isOver] = [0, false];
    const count = (): void => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    count();
    const [encoded, handed]: [number[], { turn: number; records: number }[]] = [[], []];
    const following = subject.log.follow({
      topics: [sources],
      from: 'beginning',
      take: (records) => void handed.push({ turn, records: records.length }),
      unreadable: () => {},
      stopped: () => {},
    });
    const entries = Array.from({ length: 3_000 }, (_, n) => {
      const { value, ...rest } = seen(`s${n}`, n);
      const noted = Object.defineProperty({ ...value! }, 'orgId', { get: () => (encoded.push(turn), 'o'), enumerable: true });
      return { ...rest, value: noted };
    });
    await subject.log.append(entries);
    await following.caughtUp();
    isOver = true;
    expect(
      Math.max(
        ...Map.groupBy(encoded, (at) => at)
          .values()
          .map(({ length }) => length),
      ),
    ).toBeLessThan(2_000);
    expect(handed.map(({ records }) => records).reduce((sum, n) => sum + n)).toBe(3_000);
    expect(Math.max(...handed.map(({ records }) => records))).toBeLessThan(1_000);
    expect(new Set(handed.map((one) => one.turn)).size).toBe(handed.length);
  });

  it('a group has one member', async () => {
    const first = await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
    await expect(LogConsumer.join(subject.log, { group: 'g', topics: [events] })).rejects.toThrow('group g has a member already');
    await first.stop();
    await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
  });

  it('a slow consumer gets from the file what memory does not hold any more', async () => {
    const gate = Promise.withResolvers<void>();
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [events], handler: () => gate.promise });
    for (let n = 0; n < 40; n++) await subject.log.append([saying(n, 1_000)]);
    expect(subject.log.tail.from).toBeGreaterThan(10);
    gate.resolve();
    await consumer.has(40);
    expect(numbers(consumer.records)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  it('an idle group does not go through what others wrote when it starts again', async () => {
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [sources] });
    await subject.log.append([seen('s', 1)]);
    await consumer.has(1);
    await consumer.commit();
    for (let n = 0; n < 5; n++) await subject.log.append(Array.from({ length: 1_000 }, (_, at) => saying(at)));
    subject = await subject.reopen();
    expect(Math.max(...(await subject.log.positions('g')).map(({ next }) => next))).toBeGreaterThan(2_000);
  });

  it('a reading that has an end rejects when the file can be read no more', async () => {
    await subject.log.append([saying(0)]);
    subject = await subject.reopen();
    const { log } = subject;
    subject = await subject.crash();
    const reading = readLog(log, { topics: [events], from: 'beginning', take: () => undefined });
    await expect(reading).rejects.toMatchObject({ code: 'log_unavailable' });
  });

  it('a consumer stops where the log is damaged, and says where', async () => {
    await subject.close();
    subject = await openTestLog(subject.dir, 1);
    for (let n = 0; n < 5; n++) await subject.log.append([saying(n)]);
    const sealed = (): string[] => filesIn(join(subject.dir, 'log')).flatMap(({ kind, path }) => (kind === 'sealed' ? [path] : []));
    await until('all are sealed but the newest', () => sealed().length === 4);
    subject = await subject.crash();
    const bytes = readFileSync(sealed()[3]!);
    writeFileSync(sealed()[3]!, bytes.fill('?', 20, 22));
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
    await until('it has stopped', () => consumer.stoppedBy !== undefined);
    expect(consumer.stoppedBy).toMatchObject({
      code: 'log_corrupt',
      message: 'The log is damaged: 0000000000000003.sealed: the block with offsets from 3 to 3 fails its checksum',
    });
    await subject.log.append([saying(5)]);
    expect(consumer.records).toEqual([]);
  });
});
