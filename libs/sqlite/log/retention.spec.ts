import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deadLettersOf, entry, LogGap, readLog, tombstone, type Entry } from '#log';
import { LogConsumer, LogReader, Random, until } from '#testing';
import { events, points, sources, topics } from '#topics';
import { openTestLog, type TestLog } from '../open-test-log.js';
import { logFolderName } from './fault.js';
import { bytesOfLog, filesIn } from './log-folder.js';
import { PositionedLetters } from './letter-places.js';

const keepMs = 1_000;
const letters = deadLettersOf(events.name);

let nowMs: number;
let subject: TestLog;

/** A log of which each append is a file. @param group one that there is, and that reads events. */
const open = async (group?: string): Promise<TestLog> => {
  const groups = group === undefined ? [] : [{ name: group, inputs: [events] }];
  return openTestLog(undefined, 1, { clock: () => nowMs, retention: { keepMs, groups } });
};

beforeEach(async () => {
  nowMs = 0;
  subject = await open();
});
afterEach(() => subject.close());

const saying = (n: number, times = 1, bytes = 1): Entry =>
  entry(events, {
    orgId: 'o',
    sourceId: 's',
    receivedMs: 1,
    origin: 'source',
    events: Array.from({ length: times }, (_, place) => {
      return { metric: 'said', timestampMs: 1, value: `${n}`.padEnd(bytes), isJson: false, tags: '', place, ordinal: place };
    }),
  });
const seen = (n: number): Entry => entry(sources, { orgId: 'o', sourceId: `s${n}`, firstReceivedMs: 1, lastReceivedMs: 1 });

async function append(...entries: readonly Entry[]): Promise<void> {
  for (const one of entries) await subject.log.append([one]);
}

const park = (n: number): Promise<void> =>
  subject.log.appendBytes(letters, 'o/s', Uint8Array.of(n), {
    topic: events.name,
    partition: '0',
    offset: `${n}`,
    group: 'g',
    reason: 'no',
  });

/** Where the files of the log begin, and where the log does. */
async function beginnings(): Promise<readonly [files: number, log: number]> {
  await subject.log.tidied();
  expect(subject.log.untidy).toBeUndefined();
  return [filesIn(join(subject.dir, logFolderName)).find(({ kind }) => kind !== 'newest')!.offset, subject.log.begins];
}

/** After so long everything is old that stands in the log, and another record begins a file behind it. */
async function age(ms = 2 * keepMs - 1): Promise<readonly [files: number, log: number]> {
  nowMs += ms;
  await append(saying(nowMs));
  return beginnings();
}

describe('a log that keeps records for a time', () => {
  it('keeps those that are younger, by the time at which they were appended', async () => {
    for (const ms of [0, 300, 600, 900]) {
      nowMs = ms;
      await append(saying(ms));
    }
    nowMs = 1_600;
    expect(await beginnings()).toEqual([2, 2]);
    nowMs = 1_601;
    expect(await beginnings()).toEqual([3, 3]);
  });

  it('keeps everything when it has no time', async () => {
    await subject.close();
    subject = await openTestLog(subject.dir, 1, { clock: () => nowMs });
    await append(saying(0), saying(1));
    nowMs = 1e12;
    await append(saying(2));
    expect(await beginnings()).toEqual([0, 0]);
    expect(readFileSync(join(subject.dir, 'FORMAT'), 'utf8')).toBe('headwater 2\n');
  });

  it('drops what it has when nobody appends any more, and a journal that is not full', async () => {
    await subject.close();
    subject = await openTestLog(undefined, undefined, { clock: () => nowMs, retention: { keepMs, groups: [] } });
    await append(saying(0), saying(1));
    nowMs = 5_000;
    expect(await beginnings()).toEqual([2, 2]);
  });

  it('begins at the same place when it is opened again, and earlier versions refuse it', async () => {
    await append(saying(0), saying(1));
    expect(await age()).toEqual([2, 2]);
    subject = await subject.crash();
    expect(subject.log.begins).toBe(2);
    expect(readFileSync(join(subject.dir, 'FORMAT'), 'utf8')).toBe('headwater 3\n');
  });

  it('takes a bounded space, however long it is appended to', async () => {
    await subject.close();
    subject = await openTestLog(undefined, 16_384, { clock: () => nowMs, retention: { keepMs, groups: [] } });
    const random = new Random(1);
    const said = (): Entry =>
      entry(points, {
        orgId: 'o',
        sourceId: 's',
        receivedMs: nowMs,
        series: [{ metric: 'm', tags: '', timestampMs: Float64Array.of(nowMs), value: Float64Array.of(random.whole(0, 1e15)) }],
      });
    let most = 0;
    for (let n = 0; n < 400; n++) {
      nowMs += 25;
      await append(...Array.from({ length: 4 }, said), seen(n % 10));
      if (n % 20 > 0) continue;
      await subject.log.tidied();
      if (n > 100) most = Math.max(most, bytesOfLog(join(subject.dir, logFolderName)));
    }
    // 400 times about 600 bytes are 240 kB; 1,100 ms of them are 26 kB, and a journal has a megabyte of zeros ahead of it.
    expect(most - 2 ** 20).toBeLessThan(100_000);
    expect(subject.log.begins).toBeGreaterThan(1_500);
  });
});

describe('records that are old stay', () => {
  const three = [saying(0), saying(1), saying(2)];

  it.each<readonly [string, number, string | undefined, (() => Promise<unknown>) | undefined]>([
    ['while a group has not committed them', 3, undefined, async () => (await joined()).commit()],
    [
      'while a group that has left has not committed them',
      3,
      undefined,
      async () => {
        const consumer = await joined();
        await consumer.commit();
        await consumer.stop();
      },
    ],
    ['while a group that there is has never joined', 0, 'late', undefined],
    [
      'but for a group that reads other topics, and has a member',
      6,
      undefined,
      () => LogConsumer.join(subject.log, { group: 'g', topics: [points] }),
    ],
    [
      'but for a group that begins at the end',
      3,
      undefined,
      () => LogConsumer.join(subject.log, { group: 'g', topics: [events], from: 'end' }),
    ],
  ])('%s', async (_, expected, group, work) => {
    await subject.close();
    subject = await open(group);
    await append(...three);
    await work?.();
    await append(...three);
    expect((await age())[1]).toBe(expected);
  });

  const joined = async (): Promise<LogConsumer> => {
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
    await consumer.has(3);
    return consumer;
  };

  it('until the group has committed them', async () => {
    await append(...three);
    const consumer = await joined();
    expect((await age())[1]).toBe(0);
    await consumer.commit();
    expect((await beginnings())[1]).toBe(3);
  });

  it('until those who read them have, though the log begins behind them', async () => {
    // More than is read at once.
    await append(saying(0, 600, 1_000), saying(1, 600, 1_000), saying(2));
    subject = await subject.reopen();
    const gate = Promise.withResolvers<void>();
    const reader = LogReader.of(subject.log, { topics: [events], from: 'beginning', to: 'end', take: () => gate.promise });
    await until('it has something', () => subject.log.isRead(3) && !subject.log.isRead(2));
    const meanwhile = await age();
    gate.resolve();
    await reader.following.caughtUp();
    expect(meanwhile).toEqual([0, 3]);
    expect(reader.records.map(({ offset }) => offset)).toEqual([0, 1, 2]);
    expect(await beginnings()).toEqual([3, 3]);
  });

  it('while dead letters among them wait, but not for ever', async () => {
    await append(...three);
    await park(7);
    await append(...three);
    expect((await age())[1]).toBe(3);
    expect(await new PositionedLetters(subject.log).waiting(letters)).toBe(1);
    expect((await age(2))[1]).toBe(7);
    expect(await new PositionedLetters(subject.log).waiting(letters)).toBe(0);
  });

  it.each([
    ['sent back', () => new PositionedLetters(subject.log).keep(letters, none, { ...none, next: 4 })],
    ['sent back by itself', () => new PositionedLetters(subject.log).keep(letters, none, { ...none, singles: [3] })],
    ['deleted', () => new PositionedLetters(subject.log).delete(letters, 4)],
  ] as const)('no longer for a dead letter that was %s', async (_, resolve) => {
    await append(...three);
    await park(7);
    await resolve();
    expect((await age())[1]).toBe(4);
    expect(await new PositionedLetters(subject.log).waiting(letters)).toBe(0);
    await park(8);
    expect(await new PositionedLetters(subject.log).waiting(letters)).toBe(1);
  });

  const none = { first: 0, next: 0, singles: [] };
});

describe('a log that has dropped records', () => {
  beforeEach(async () => {
    await append(saying(0), seen(1), saying(2), seen(3), tombstone(sources, 'o/s3'), saying(5));
    expect(await age()).toEqual([6, 6]);
    await append(seen(7));
    subject = await subject.reopen();
  });

  it('has the newest of each key of compacted topics', async () => {
    const view = subject.views.open(sources);
    await view.ready;
    expect([...view.scan('')].map(([key]) => key)).toEqual(['o/s1', 'o/s7']);
  });

  it('gives a new group what there is', async () => {
    const consumer = await LogConsumer.join(subject.log, { group: 'new', topics: [events] });
    await consumer.has(1);
    expect(consumer.records.map(({ offset }) => offset)).toEqual([6]);
    expect(await consumer.subscription.lag()).toBe(1);
  });

  it.each([
    ['beginning', [6]],
    [[{ topic: events.name, partition: 12, offset: 6 }], [6]],
  ] as const)('gives a reader from %j on what there is', async (from, offsets) => {
    const found: number[] = [];
    const everywhere = typeof from === 'string' ? from : Array.from({ length: 24 }, (_, partition) => ({ ...from[0], partition }));
    await readLog(subject.log, {
      topics: [events],
      from: everywhere,
      take: (records) => void found.push(...records.map(({ offset }) => offset)),
    });
    expect(found).toEqual(offsets);
  });

  it('tells a reader from a place before that there is a gap, and holds nothing for it', async () => {
    const reader = LogReader.of(subject.log, { topics: [events], from: [{ topic: events.name, partition: 0, offset: 5 }] });
    await until('it has stopped', () => reader.stoppedBy !== undefined);
    expect([reader.stoppedBy instanceof LogGap, reader.stoppedBy!.message, reader.records]).toEqual([
      true,
      `the log begins at offset 6, behind where ${events.name} was to be read`,
      [],
    ]);
    expect(subject.log.isRead(Infinity)).toBe(false);
  });

  it.each<readonly [string, 'beginning' | { offset: number } | { timestampMs: number }]>([
    ['the beginning', 'beginning'],
    ['an offset that is gone', { offset: 2 }],
    ['a time that is gone', { timestampMs: 0 }],
  ])('moves a group back to %s, and says that something is gone', async (_, to) => {
    const consumer = await LogConsumer.join(subject.log, { group: 'g', topics: [events] });
    await consumer.has(1);
    await consumer.commit();
    await consumer.stop();
    expect(await subject.groups.move('g', to)).toEqual({ topics: [events.name], cut: [events.name] });
    expect((await subject.log.positions('g')).every(({ next }) => next === 6)).toBe(true);
  });

  it('counts what it has', async () => {
    const { topics: sizes } = await subject.groups.report();
    const counts = sizes.map(({ topic, records }) => [topic, records] as const).filter(([, records]) => records > 0);
    expect(counts.find(([topic]) => topic === events.name)).toEqual([events.name, 1]);
    expect(sizes.length).toBe(topics.length);
  });
});
