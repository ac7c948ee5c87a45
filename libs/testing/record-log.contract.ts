import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  entry,
  partitionOf,
  readLog,
  tombstone,
  type AnyTopic,
  type Entry,
  type FollowOptions,
  type RecordLog,
  type StreamRecord,
  type Views,
} from '#log';
import { tagsKey, type EventBatch, type PointBatch, type Source } from '#model';
import { deletionOf, events, points, sources } from '#topics';
import { until } from './until.js';
import { LogConsumer } from './log-consumer.js';
import { LogReader } from './log-reader.js';
import { eventually } from './eventually.js';
import { Random } from './random.js';

/** A log on data of its own. */
export interface LogUnderTest {
  readonly log: RecordLog;
  readonly views: Views;
  /** Ends it in good order and opens the same data again. */
  reopen(): Promise<LogUnderTest>;
  /** Ends it as a crash would and opens the same data again. */
  crash(): Promise<LogUnderTest>;
  close(): Promise<void>;
}

type AnyEntry = Entry<EventBatch> | Entry<PointBatch> | Entry<Source>;

const t = 1_700_000_000_000;

const aSource = (sourceId: string, lastReceivedMs = t): Source => ({
  orgId: 'o',
  sourceId,
  firstReceivedMs: t,
  lastReceivedMs,
  heardIn: 'points',
});

/** The n-th thing that a source says. */
const saying = (sourceId: string, n: number, text = ''): Entry<EventBatch> =>
  entry(events, {
    orgId: 'o',
    sourceId,
    receivedMs: t,
    origin: 'source',
    events: [{ metric: 'said', timestampMs: t + n, value: text, isJson: false, tags: '', place: 0, ordinal: 0 }],
    deleted: null,
  });

const numberOf = ({ value }: StreamRecord): number => (value as EventBatch).events[0]!.timestampMs - t;
const numbers = (records: readonly StreamRecord[]): number[] => records.map(numberOf);
const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
const count = (n: number, from = 0): number[] => Array.from({ length: n }, (_, at) => from + at);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** What each key was last given, tombstones included. */
const newest = (records: readonly StreamRecord[]): Map<string, unknown> => new Map(records.map(({ key, value }) => [key, value]));

const pointsOf = (sourceId: string, length: number, random: Random): Entry<PointBatch> => {
  const timestampMs = Float64Array.from({ length }, (_, at) => t + at);
  const value = Float64Array.from({ length }, () => random.fraction());
  const series = [{ metric: 'm', tags: tagsKey({ a: 'b' }), timestampMs, value }];
  return entry(points, { orgId: 'o', sourceId, receivedMs: t, series, deleted: null });
};

function expectInOrder(records: readonly StreamRecord[]): void {
  const last = new Map<string, number>();
  for (const { topic, partition, offset } of records) {
    const place = `${topic.name}/${partition}`;
    expect(offset).toBeGreaterThan(last.get(place) ?? -1);
    last.set(place, offset);
  }
}

/**
 * Every promise of `RecordLog`; any adapter must pass.
 * @param seeds how many random courses of events there are.
 */
export function recordLogContract(open: () => Promise<LogUnderTest>, seeds = 6): void {
  let subject: LogUnderTest;
  let log: RecordLog;
  const use = (next: LogUnderTest): void => void ([subject, log] = [next, next.log]);
  beforeEach(async () => use(await open()));
  afterEach(() => subject.close());

  const join = (group: string, topics: readonly AnyTopic[] = [events], more = {}): Promise<LogConsumer> =>
    LogConsumer.join(log, { group, topics, ...more });

  describe('a record', () => {
    const values: readonly [string, () => AnyEntry][] = [
      ['points', () => pointsOf('s', 300, new Random(1))],
      ['an event with headers', () => ({ ...saying('s', 1, 'é\u{1F600}\0'), headers: { request_id: 'r-1', traceparent: '00-é' } })],
      ['a deletion', () => deletionOf({ orgId: 'o', sourceId: 's' }, 'm', t)[0]],
      ['a definition', () => entry(sources, aSource('s'))],
      ['a tombstone', () => tombstone(sources, 'o/s')],
      ['a long key', () => entry(sources, aSource('s'.repeat(256)))],
    ];

    it.each(values)('comes as it was to those who wait for it and to those who come later: %s', async (_, make) => {
      const sent = make();
      const present = await join('present', [sent.topic]);
      const beforeMs = Date.now();
      await log.append([sent]);
      const late = await join('late', [sent.topic]);
      await Promise.all([present.has(1), late.has(1)]);
      use(await subject.reopen());
      const later = await join('later', [sent.topic]);
      await later.has(1);
      for (const [record] of [present.records, late.records, later.records]) {
        const { topic, key, value, headers, appendedMs, bytes, partition } = record!;
        expect({ topic, key, value, headers }).toEqual({ ...sent, headers: sent.headers ?? {} });
        expect(partition).toBe(partitionOf(Buffer.from(key), sent.topic.partitions));
        expect(appendedMs).toBeGreaterThanOrEqual(beforeMs - 1);
        expect(appendedMs).toBeLessThanOrEqual(Date.now() + 1);
        expect(bytes > 0).toBe(value !== null);
      }
    });

    it('that does not fit its schema is refused, and what else is under way is not', async () => {
      const wrong = { ...saying('s', 1), value: { orgId: 7 } as unknown as EventBatch };
      const outcomes = await Promise.allSettled([log.append([saying('s', 1)]), log.append([wrong]), log.append([saying('s', 2)])]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      const consumer = await join('g');
      await consumer.has(2);
      expect(ascending(numbers(consumer.records))).toEqual([1, 2]);
    });

    it('of nothing is durable at once', async () => {
      await expect(log.append([])).resolves.toBeUndefined();
    });
  });

  describe('order', () => {
    it('of what one call or two calls in turn append for one key is kept, whatever else is appended meanwhile', async () => {
      const present = await join('present');
      const keys = count(12).map((n) => `s${n}`);
      await Promise.all(
        keys.map(async (key) => {
          for (let n = 0; n < 60; n += 3) await log.append(count(3, n).map((at) => saying(key, at)));
        }),
      );
      const late = await join('late');
      for (const consumer of [present, late]) {
        await consumer.has(12 * 60);
        expectInOrder(consumer.records);
        for (const key of keys) expect(numbers(consumer.records.filter((one) => one.key === `o/${key}`))).toEqual(count(60));
      }
    });

    it('of a partition is that of its offsets, and a key stays in its partition, over all topics of a group', async () => {
      for (const n of count(50)) await log.append([saying(`s${n % 7}`, n), entry(sources, aSource(`s${n % 7}`, n))]);
      const consumer = await join('g', [events, sources]);
      await consumer.has(57);
      await consumer.subscription.caughtUp();
      expectInOrder(consumer.records);
      const places = new Set(consumer.records.map(({ topic, key, partition }) => `${topic.name} ${key} ${partition}`));
      expect(places.size).toBe(14);
    });

    it('survives a restart: what is appended later has greater offsets', async () => {
      await log.append([saying('s', 1)]);
      use(await subject.reopen());
      await log.append([saying('s', 2)]);
      use(await subject.crash());
      await log.append([saying('s', 3)]);
      const consumer = await join('g');
      await consumer.has(3);
      expect(numbers(consumer.records)).toEqual([1, 2, 3]);
      expectInOrder(consumer.records);
    });
  });

  describe('a handler', () => {
    it('that rejects is given the same records again, and those after them later', async () => {
      const calls: number[][] = [];
      const handler = async (records: readonly StreamRecord[]): Promise<void> => {
        calls.push(numbers(records));
        if (calls.length < 3) throw new Error('not yet');
      };
      const consumer = await join('g', [events], { handler });
      await log.append([saying('s', 1)]);
      await log.append([saying('s', 2)]);
      await consumer.has(2);
      expect(calls[0]![0]).toBe(1);
      expect(calls.slice(1, 3)).toEqual([calls[0], calls[0]]);
      expect(numbers(consumer.records)).toEqual([1, 2]);
    });

    it('is called again for a partition only when its last call has settled', async () => {
      let [running, together] = [0, 0];
      const handler = async (): Promise<void> => {
        together = Math.max(together, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      };
      const consumer = await join('g', [events], { handler });
      for (const n of count(50)) await log.append([saying('s', n)]);
      await consumer.has(50);
      expect(together).toBe(1);
      expect(numbers(consumer.records)).toEqual(count(50));
    });

    it('that is slow is given a bounded number of bytes at a time, and everything in the end', async () => {
      const gate = Promise.withResolvers<void>();
      const consumer = await join('g', [events], { handler: () => gate.promise });
      const text = 'x'.repeat(4000);
      try {
        for (const n of count(40)) await log.append(count(250, 250 * n).map((at) => saying(`s${at % 5}`, at, text)));
        expect(consumer.batches.length).toBeLessThanOrEqual(events.partitions);
      } finally {
        gate.resolve();
      }
      // Where the handler waits for longer than a member may be silent, on a busy machine, some are given again.
      await eventually(() => expect(ascending([...new Set(numbers(consumer.records))])).toEqual(count(10_000)));
      for (const batch of consumer.batches) expect(sum(batch.map(({ bytes }) => bytes))).toBeLessThan(4 << 20);
    });

    it('is not called after stop, which waits for the call under way', async () => {
      const gate = Promise.withResolvers<void>();
      const consumer = await join('g', [events], { handler: () => gate.promise });
      await log.append([saying('s', 1)]);
      await log.append([saying('s', 2)]);
      const stopped = consumer.stop();
      gate.resolve();
      await stopped;
      const calls = consumer.batches.length;
      await log.append([saying('s', 3)]);
      const other = await join('other');
      await other.has(3);
      expect(consumer.batches.length).toBe(calls);
      expect(consumer.records.length).toBe(sum(consumer.batches.map((batch) => batch.length)));
    });

    it('that rejects for ever can be stopped', async () => {
      const consumer = await join('g', [events], { handler: () => Promise.reject(new Error('never')) });
      await log.append([saying('s', 1)]);
      await consumer.stop();
      expect(consumer.records).toEqual([]);
    });
  });

  describe('a group', () => {
    it('goes on behind what it committed, also after a crash, and gets everything else again', async () => {
      for (const n of count(20)) await log.append([saying('s', n)]);
      const first = await join('g');
      await first.has(20);
      await first.commit(first.records.slice(0, 12));
      await first.stop();
      const second = await join('g');
      await second.has(8);
      expect(numbers(second.records)).toEqual(count(8, 12));
      use(await subject.crash());
      const third = await join('g');
      await third.has(8);
      await third.commit();
      await log.append([saying('s', 20)]);
      use(await subject.reopen());
      const fourth = await join('g');
      await fourth.has(1);
      expect(numbers(fourth.records)).toEqual([20]);
    });

    it('has an offset for each partition', async () => {
      const keys = count(8).map((n) => `s${n}`);
      for (const n of count(10)) await log.append(keys.map((key) => saying(key, n)));
      const first = await join('g');
      await first.has(80);
      const partition = first.records[0]!.partition;
      const here = first.records.filter((one) => one.partition === partition);
      await first.commit(here.slice(0, here.length / 2));
      await first.stop();
      const second = await join('g');
      await second.has(80 - here.length / 2);
      await log.append([saying('s0', 99)]);
      await second.has(81 - here.length / 2);
      expect(second.records.length).toBe(81 - here.length / 2);
      expect(numbers(second.records.filter((one) => one.partition === partition && numberOf(one) !== 99))).toEqual(
        numbers(here.slice(here.length / 2)),
      );
    });

    it('never goes back', async () => {
      for (const n of count(10)) await log.append([saying('s', n)]);
      const first = await join('g');
      await first.has(10);
      await first.commit(first.records.slice(0, 7));
      await first.commit(first.records.slice(0, 3));
      await first.stop();
      const second = await join('g');
      await second.has(3);
      expect(numbers(second.records)).toEqual([7, 8, 9]);
    });

    it('knows nothing of other groups', async () => {
      for (const n of count(10)) await log.append([saying('s', n)]);
      const [one, two] = [await join('one'), await join('two')];
      await Promise.all([one.has(10), two.has(10)]);
      await one.commit();
      await Promise.all([one.stop(), two.stop()]);
      const again = await join('two');
      await again.has(10);
      expect(numbers(again.records)).toEqual(count(10));
    });

    it('with a further topic gets that one from its beginning', async () => {
      await log.append([saying('s', 1), entry(sources, aSource('s'))]);
      const first = await join('g');
      await first.has(1);
      await first.commit();
      await first.stop();
      const second = await join('g', [events, sources]);
      await second.has(1);
      expect(second.records.map(({ topic }) => topic.name)).toEqual([sources.name]);
    });

    it('that begins at the end gets what is appended after it first joined, even while it has no members', async () => {
      const [end, begun] = [{ from: 'end' }, [events, sources]] as const;
      await log.append([saying('s', 1), saying('t', 1)]);
      await (await join('g', [events], end)).stop();
      await log.append([saying('s', 2), entry(sources, aSource('s'))]);
      use(await subject.crash());
      const second = await join('g', [events], end);
      await second.has(1);
      await second.commit();
      expect(await second.subscription.lag()).toBe(0);
      await second.stop();
      await log.append([saying('s', 3), saying('t', 3)]);
      use(await subject.reopen());
      const third = await join('g', begun, end);
      await log.append([entry(sources, aSource('t'))]);
      await third.has(3);
      expect(numbers(second.records)).toEqual([2]);
      expect(third.records.map(({ topic, key }) => `${topic.name} ${key}`).toSorted()).toEqual([
        `${sources.name} o/t`,
        `${events.name} o/s`,
        `${events.name} o/t`,
      ]);
    });

    it('has a lag of what is appended to its topics and not committed', async () => {
      const consumer = await join('g');
      expect(await consumer.subscription.lag()).toBe(0);
      for (const n of count(10)) await log.append([saying('s', n), entry(sources, aSource('s'))]);
      await consumer.has(10);
      expect(await consumer.subscription.lag()).toBe(10);
      const lags = await consumer.subscription.lags();
      const topics = consumer.records.map(({ topic }) => topic);
      const partitions = new Set(topics.flatMap(({ name, partitions: n }) => count(n).map((partition) => `${name}/${partition}`)));
      expect(new Set(lags.map(({ topic, partition }) => `${topic}/${partition}`))).toEqual(partitions);
      const [{ topic, partition }] = consumer.records as [StreamRecord];
      expect(lags.filter(({ records }) => records > 0)).toEqual([{ topic: topic.name, partition, records: 10 }]);
      await consumer.commit(consumer.records.slice(0, 4));
      expect(await consumer.subscription.lag()).toBe(6);
      await consumer.commit();
      expect(await consumer.subscription.lag()).toBe(0);
    });
  });

  describe('a big call', () => {
    it('of 10,000 entries is taken whole', async () => {
      await log.append(count(10_000).map((n) => saying(`s${n % 100}`, n)));
      const consumer = await join('g');
      await consumer.has(10_000);
      expect(ascending(numbers(consumer.records))).toEqual(count(10_000));
      expectInOrder(consumer.records);
    });

    it('of 5 MB is taken whole', async () => {
      const random = new Random(5);
      const sent = count(24).map((n) => pointsOf(`s${n}`, 15_000, random));
      await log.append(sent);
      use(await subject.crash());
      const consumer = await join('g', [points]);
      await consumer.has(24);
      const values = new Map(consumer.records.map(({ key, value }) => [key, value]));
      expect(sum(consumer.records.map(({ bytes }) => bytes))).toBeGreaterThan(5e6);
      for (const { key, value } of sent) {
        const [was, is] = [value!.series[0]!, (values.get(key) as PointBatch).series[0]!];
        expect(Buffer.from(is.value.buffer).equals(Buffer.from(was.value.buffer))).toBe(true);
        expect(Buffer.from(is.timestampMs.buffer).equals(Buffer.from(was.timestampMs.buffer))).toBe(true);
      }
    });
  });

  describe('bytes that are no record', () => {
    it('are handed over as they are, in their place, and the partition goes on', async () => {
      const bytes = Uint8Array.of(0, 0, 0, 99, 99, 1, 2, 3);
      await log.append([saying('s', 1)]);
      await log.appendBytes(events.name, 'o/s', bytes, { a: 'b' });
      await log.appendBytes(events.name, 'o/s', Uint8Array.of(), {});
      await log.append([saying('s', 2)]);
      const consumer = await join('g');
      await consumer.has(2);
      expect(numbers(consumer.records)).toEqual([1, 2]);
      expect(consumer.unreadable.map(({ topic, key, bytes: given, headers }) => [topic.name, key, [...given], headers])).toEqual([
        [events.name, 'o/s', [...bytes], { a: 'b' }],
        [events.name, 'o/s', [], {}],
      ]);
      const offsets = [consumer.records[0], ...consumer.unreadable, consumer.records[1]].map((one) => one!.offset);
      expect(offsets).toEqual(ascending(offsets));
      for (const { reason } of consumer.unreadable) expect(reason).not.toBe('');
    });

    it('come to a consumer that waits for them too', async () => {
      const consumer = await join('g');
      await log.append([saying('s', 1)]);
      await log.appendBytes(events.name, 'o/s', Uint8Array.of(7), {});
      await log.append([saying('s', 2)]);
      await consumer.has(2);
      expect(consumer.unreadable.map(({ bytes }) => [...bytes])).toEqual([[7]]);
    });

    it('that a record stands for can be asked for', async () => {
      const present = await join('present');
      await log.append([saying('s', 1, 'text')]);
      const late = await join('late');
      await Promise.all([present.has(1), late.has(1)]);
      const [waited, read] = [log.encoded(present.records[0]!), log.encoded(late.records[0]!)];
      expect(Buffer.from(waited).equals(Buffer.from(read))).toBe(true);
      await log.appendBytes(events.name, 'o/s', read, {});
      await present.has(2);
      expect(present.records[1]!.value).toEqual(present.records[0]!.value);
    });
  });

  describe('a reading without a group', () => {
    const readings: LogReader[] = [];
    const follow = (more: Partial<FollowOptions> = {}): LogReader => {
      const reading = LogReader.of(log, { topics: [events], from: 'beginning', ...more });
      readings.push(reading);
      return reading;
    };
    const caughtUp = (...some: readonly LogReader[]): Promise<unknown> => Promise.all(some.map(({ following }) => following.caughtUp()));
    afterEach(() => Promise.all(readings.splice(0).map(({ following }) => following.stop())));

    it('gives what there was and what comes, from the beginning or from the end on, in order', async () => {
      await log.append([saying('s', 1), saying('t', 2)]);
      const [all, late] = [follow(), follow({ from: 'end' })];
      await caughtUp(all, late);
      expect([ascending(numbers(all.records)), late.records]).toEqual([[1, 2], []]);
      for (const n of count(20, 3)) await log.append([saying(`s${n % 3}`, n)]);
      await caughtUp(all, late);
      expect([ascending(numbers(all.records)), ascending(numbers(late.records))]).toEqual([count(22, 1), count(20, 3)]);
      expectInOrder(all.records);
      await until('it is not behind', () => all.following.lag() === 0 && all.following.ageMs() < 5_000);
      await all.following.stop();
      await log.append([saying('s', 99)]);
      await caughtUp(late);
      expect([all.records.length, late.records.length, all.stoppedBy]).toEqual([22, 21, undefined]);
    });

    it('gives each record once while one partition after the other wakes up', async () => {
      const all = follow({ from: 'end' });
      await caughtUp(all);
      const names = count(8).map((n) => `s${n}`);
      const sent = count(20 * names.length);
      // At first one of them speaks, at last each does in turn.
      for (const n of sent) await log.append([saying(names[n % (1 + Math.floor(n / 20))]!, n)]);
      await caughtUp(all);
      expect(ascending(numbers(all.records))).toEqual(sent);
      expectInOrder(all.records);
    });

    it('gives the same records as a group gets, or their bytes, to those who wait and to those who come later', async () => {
      const topics = [events, sources];
      const waiting = follow({ topics, asBytes: true });
      await log.append([{ ...saying('s', 1, 'é'), headers: { request_id: 'r' } }, entry(sources, aSource('s')), saying('t', 2)]);
      await log.append([tombstone(sources, 'o/s')]);
      const consumer = await join('g', topics);
      const [values, bytes] = [follow({ topics }), follow({ topics, asBytes: true })];
      await Promise.all([consumer.subscription.caughtUp(), caughtUp(waiting, values, bytes)]);
      const shown = (records: readonly StreamRecord[], valueOf = ({ value }: StreamRecord): unknown => value): Record<string, unknown> =>
        Object.fromEntries(
          records.map((record) => {
            const { topic, partition, offset, key, headers, appendedMs, bytes: size } = record;
            return [`${topic.name}/${partition} ${offset}`, [key, valueOf(record), headers, appendedMs, size]];
          }),
        );
      const bytesOf = (record: StreamRecord): unknown => record.value && [...log.encoded(record)];
      const given = ({ value }: StreamRecord): unknown => value && [...(value as Uint8Array)];
      expect(shown(values.records)).toEqual(shown(consumer.records));
      expect(shown(bytes.records, given)).toEqual(shown(consumer.records, bytesOf));
      // It may also have seen what is compacted away since.
      expect(shown(waiting.records, given)).toMatchObject(shown(consumer.records, bytesOf));
    });

    it('up to the end at the call, or from positions on, gives what stands between, and ends', async () => {
      for (const n of count(10)) await log.append([saying('s', n), saying('t', 100 + n)]);
      const read = async (more: Partial<FollowOptions>): Promise<StreamRecord[]> => {
        const found: StreamRecord[] = [];
        await readLog(log, { topics: [events], from: 'beginning', take: (records) => void found.push(...records), ...more });
        return found;
      };
      const bounded = follow({ to: 'end' });
      await caughtUp(bounded);
      await log.append([saying('s', 10)]);
      const all = await read({});
      expect([bounded.records.length, all.length]).toEqual([20, 21]);
      const ours = all.filter(({ key }) => key === 'o/s');
      const { partition, offset } = ours[4]!;
      const later = await read({ from: [{ topic: events.name, partition, offset }] });
      expect(numbers(later.filter(({ key }) => key === 'o/s'))).toEqual(count(7, 4));
      expect(new Set(later.map((record) => record.partition))).toEqual(new Set([partition]));
      expect(new Set((await read({ partitions: [partition] })).map((record) => record.partition))).toEqual(new Set([partition]));
      await caughtUp(bounded);
      expect([bounded.records.length, bounded.following.lag(), bounded.following.ageMs()]).toEqual([20, 0, 0]);
    });

    it('says where it goes on, also where there was nothing to give, and a reading from there gives what comes', async () => {
      await log.append([saying('s', 1), entry(sources, aSource('s'))]);
      const late = follow({ from: 'end', partitions: [0, 1] });
      await caughtUp(late);
      const positions = late.following.positions();
      expect(positions.map(({ topic, partition }) => [topic, partition])).toEqual([0, 1].map((partition) => [events.name, partition]));
      for (const n of count(20)) await log.append([saying(`s${n}`, n)]);
      await caughtUp(late);
      const again = follow({ from: positions, to: 'end' });
      await caughtUp(again);
      expect(ascending(numbers(again.records))).toEqual(ascending(numbers(late.records)));
      expect(late.records.length).toBeGreaterThan(0);
      const behind = new Map(late.following.positions().map(({ partition, offset }) => [partition, offset]));
      expect(late.records.filter(({ partition, offset }) => offset >= behind.get(partition)!)).toEqual([]);
    });

    it('names the history of an offset alike after a restart and a crash', async () => {
      await log.append([saying('s', 1)]);
      const all = follow();
      await caughtUp(all);
      const { offset } = all.following.positions()[0]!;
      const name = (await log.history(events))(offset);
      await all.following.stop();
      use(await subject.reopen());
      await log.append([saying('s', 2)]);
      expect((await log.history(events))(offset)).toBe(name);
      use(await subject.crash());
      expect((await log.history(events))(offset)).toBe(name);
    });

    it('gives what it was given again to a `take` that rejects, and to a bounded read says so', async () => {
      let failures = 2;
      const take = (): Promise<void> => (failures-- > 0 ? Promise.reject(new Error('not yet')) : Promise.resolve());
      await log.append([saying('s', 1), saying('s', 2)]);
      const reading = follow({ take });
      await caughtUp(reading);
      expect(numbers(reading.records)).toEqual([1, 2]);
      const full = new Error('full');
      const refused = readLog(log, { topics: [events], from: 'beginning', take: () => Promise.reject(full) });
      await expect(refused).rejects.toBe(full);
    });

    it('that is slow is held back, while others go on', async () => {
      const gate = Promise.withResolvers<void>();
      const given: number[] = [];
      const slow = follow({
        take: (records) => {
          given.push(sum(records.map(({ bytes }) => bytes)));
          return gate.promise;
        },
      });
      const quick = follow();
      const text = 'x'.repeat(4000);
      for (const n of count(40)) await log.append(count(250, 250 * n).map((at) => saying(`s${at % 5}`, at, text)));
      await caughtUp(quick);
      expect([quick.records.length, slow.records.length]).toEqual([10_000, 0]);
      expect(given.length).toBeLessThanOrEqual(events.partitions);
      await until('it is behind', () => slow.following.lag() > 0 && slow.following.ageMs() > 0);
      gate.resolve();
      await caughtUp(slow);
      expect(ascending(numbers(slow.records))).toEqual(count(10_000));
      for (const bytes of given) expect(bytes).toBeLessThan(4 << 20);
    });

    it('hands over what cannot be decoded, in its place', async () => {
      const present = follow();
      await log.append([saying('s', 1)]);
      await log.appendBytes(events.name, 'o/s', Uint8Array.of(7), { a: 'b' });
      await log.append([saying('s', 2)]);
      const [late, bytes] = [follow(), follow({ asBytes: true })];
      await caughtUp(present, late, bytes);
      for (const { records, unreadable } of [present, late]) {
        expect([numbers(records), unreadable.map(({ key, headers }) => [key, headers])]).toEqual([[1, 2], [['o/s', { a: 'b' }]]]);
        const offsets = [records[0], unreadable[0], records[1]].map((record) => record!.offset);
        expect(offsets).toEqual(ascending(offsets));
      }
      expect([bytes.records.length, bytes.unreadable, [...(bytes.records[1]!.value as Uint8Array)]]).toEqual([3, [], [7]]);
      await expect(readLog(log, { topics: [events], from: 'beginning', take: () => undefined })).rejects.toThrow('cannot be read');
    });
  });

  describe('a compacted topic', () => {
    it('gives the newest record of each key, in order, to whoever comes later', async () => {
      for (const n of count(30)) await log.append([entry(sources, aSource(`s${n % 4}`, n)), saying('s', n)]);
      await log.append([tombstone(sources, 'o/s3')]);
      use(await subject.reopen());
      const consumer = await join('g', [sources, events]);
      await consumer.has(34);
      await consumer.subscription.caughtUp();
      const records = consumer.records.filter(({ topic }) => topic.name === sources.name);
      expectInOrder(consumer.records);
      expect(newest(records)).toEqual(
        new Map<string, unknown>([
          ['o/s0', aSource('s0', 28)],
          ['o/s1', aSource('s1', 29)],
          ['o/s2', aSource('s2', 26)],
          ['o/s3', null],
        ]),
      );
    });
  });

  describe('a crash between any two steps', () => {
    it.each(count(seeds, 1))('loses nothing that was acknowledged, seed %i', async (seed) => {
      const random = new Random(seed);
      const acknowledged = new Map<string, number[]>();
      const keys = count(5).map((n) => `s${n}`);
      let next = 0;
      const append = async (): Promise<void> => {
        const key = random.pick(keys);
        const said = count(random.whole(1, 40), next);
        next += said.length;
        const sent = log.append(said.map((n) => saying(key, n, 'x'.repeat(random.whole(0, 300)))));
        await sent.then(
          () => acknowledged.set(key, [...(acknowledged.get(key) ?? []), ...said]),
          () => undefined,
        );
      };
      let consumer = await join('g');
      const processed = new Set<number>();
      const commit = async (): Promise<void> => {
        const seen = [...consumer.records];
        await consumer.commit(seen);
        for (const n of numbers(seen)) processed.add(n);
      };
      for (const _ of count(15)) {
        const underWay = [append(), append(), ...(random.chance(0.5) ? [commit().catch(() => undefined)] : [])];
        if (random.chance(0.7)) await Promise.all(underWay);
        if (random.chance(0.3)) {
          use(await subject.crash());
          await Promise.all(underWay);
          consumer = await join('g');
        }
      }
      const all = [...acknowledged.values()].flat();
      const rest = await join('everything');
      const missing = (of: readonly number[]): number => {
        const seen = new Set(of);
        return all.filter((n) => !seen.has(n)).length;
      };
      await until('every acknowledged record is in the log', () => missing(numbers(rest.records)) === 0);
      await until('the group has had each of them', () => missing([...processed, ...numbers(consumer.records)]) === 0);
      for (const key of keys) {
        const stored = numbers(rest.records.filter((record) => record.key === `o/${key}`));
        expect(stored).toEqual([...new Set(stored)]);
        expect(stored).toEqual(expect.arrayContaining(acknowledged.get(key) ?? []));
      }
      expectInOrder(rest.records);
    });
  });
}
