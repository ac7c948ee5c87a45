import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deadLettersOf, entry, type Entry, type Groups } from '#log';
import { apiKeys, events, sources } from '#topics';
import { OperatorError, type EventBatch } from '#model';
import { LogConsumer } from './log-consumer.js';
import type { LogUnderTest } from './record-log.contract.js';

/** A log whose groups an operator sees. */
export interface GroupsUnderTest extends LogUnderTest {
  readonly groups: Groups;
  reopen(): Promise<GroupsUnderTest>;
}

const saying = (n: number): Entry<EventBatch> =>
  entry(events, {
    orgId: 'o',
    sourceId: 's',
    receivedMs: n,
    origin: 'source',
    events: [{ metric: 'said', timestampMs: n, value: 'x', isJson: false, tags: '', place: 0, ordinal: 0 }],
  });

/** Every promise of `Groups`, on a log that has the topics of events, sources and API keys; any adapter must pass. */
export function groupsContract(open: () => Promise<GroupsUnderTest>): void {
  let subject: GroupsUnderTest;
  beforeEach(async () => void (subject = await open()));
  afterEach(() => subject.close());

  const join = (group: string, topics = [events, sources]): Promise<LogConsumer> => LogConsumer.join(subject.log, { group, topics });
  const lag = async (): Promise<number> => (await subject.groups.report()).groups.reduce((sum, one) => sum + one.lag, 0);
  const sizes = async (): Promise<Record<string, number>> =>
    Object.fromEntries((await subject.groups.report()).topics.map(({ topic, records }) => [topic, records]));
  /** A group that has taken four records and committed three. */
  const begin = async (): Promise<LogConsumer> => {
    for (let n = 1; n <= 4; n++) await subject.log.append([saying(n)]);
    const consumer = await join('g', [events]);
    await consumer.has(4);
    await consumer.commit(consumer.records.slice(0, 3));
    return consumer;
  };

  describe('a report', () => {
    it('names every topic, and dead letters where there are any', async () => {
      const empty = await subject.groups.report();
      expect(empty.topics).toContainEqual({ topic: sources.name, partitions: sources.partitions, cleanup: 'compact', records: 0 });
      expect([empty.groups, await subject.groups.names()]).toEqual([[], []]);
      await subject.log.append([saying(1), entry(sources, { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 1 })]);
      const letters = deadLettersOf(events.name);
      await subject.log.appendBytes(letters, 'o/s', new Uint8Array(1), {});
      expect(await sizes()).toMatchObject({ [events.name]: 1, [sources.name]: 1, [apiKeys.name]: 0, [letters]: 1 });
      expect(await sizes()).not.toHaveProperty([deadLettersOf(sources.name)]);
    });

    it('says how far a group is in each partition that has records', async () => {
      const { records } = await begin();
      const [{ partition, offset }] = [records[3]!];
      expect(await subject.groups.names()).toEqual(['g']);
      const reported = (await subject.groups.report()).groups;
      expect(reported).toEqual([{ group: 'g', topic: events.name, partition, offset: expect.any(Number), lag: 1 }]);
      expect(reported[0]!.offset).toBeGreaterThan(records[2]!.offset);
      expect(reported[0]!.offset).toBeLessThanOrEqual(offset);
    });
  });

  describe('a group', () => {
    it('that has a member is not moved', async () => {
      const consumer = await begin();
      await expect(subject.groups.move('g', 'beginning')).rejects.toThrow(OperatorError);
      await consumer.commit();
      expect(await lag()).toBe(0);
    });

    it('is moved back in every topic and never forward, and goes on from there', async () => {
      const beforeMs = Date.now() - 1;
      const consumer = await begin();
      await consumer.stop();
      const [, , third, fourth] = consumer.records.map(({ offset }) => offset);
      // The fourth record was not committed, so it is still to be done.
      for (const [goal, expected] of [
        [{ timestampMs: Date.now() + 1e6 }, 1],
        [{ offset: fourth! + 1 }, 1],
        [{ offset: third! }, 2],
        [{ offset: fourth! }, 2],
        [{ timestampMs: beforeMs }, 4],
        ['beginning', 4],
      ] as const) {
        expect(await subject.groups.move('g', goal)).toEqual({ topics: [events.name], cut: [] });
        expect([goal, await lag()]).toEqual([goal, expected]);
      }
      subject = await subject.reopen();
      const again = await join('g', [events]);
      await again.has(4);
      expect(again.records.map(({ offset }) => offset)).toEqual(consumer.records.map(({ offset }) => offset));
    });

    it('is moved by itself', async () => {
      await (await begin()).stop();
      const other = await join('h');
      await other.has(4);
      await subject.log.append([entry(sources, { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 1 })]);
      await other.has(5);
      await other.commit();
      await other.stop();
      const { topics } = await subject.groups.move('h', 'beginning');
      expect(topics.toSorted()).toEqual([sources.name, events.name]);
      const byGroup = Map.groupBy((await subject.groups.report()).groups, ({ group }) => group);
      const lags = Array.from(byGroup, ([group, its]) => [group, its.reduce((sum, one) => sum + one.lag, 0)]);
      expect(lags).toEqual([
        ['g', 1],
        ['h', 5],
      ]);
    });
  });
}
