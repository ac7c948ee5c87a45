import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deliver, entry, type StreamRecord, type Topic } from '#log';
import { forever, type Lease, type EventBatch, type PointBatch, type Source } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { eventually } from '#testing';
import { deletionOf, events, points, sources } from '#topics';
import { SourceTracker } from './source-tracker.js';

const t = 1_700_000_000_000;

function aRecord<V>(topic: Topic<V>, value: V): StreamRecord<V> {
  return { topic, partition: 0, offset: 0, key: topic.key(value), value, appendedMs: t, headers: {}, bytes: 100 };
}
const aPoint = (sourceId: string, receivedMs: number): StreamRecord<PointBatch> =>
  aRecord(points, { orgId: 'o', sourceId, receivedMs, series: [] });
const aDeletion = (topic: typeof points | typeof events, metric: string | null = null): StreamRecord => {
  const deletion = deletionOf({ orgId: 'o', sourceId: 'a' }, metric, t);
  return topic === points ? aRecord(points, deletion[0].value!) : aRecord(events, deletion[1].value!);
};
const anEvent = (sourceId: string, receivedMs: number, origin: EventBatch['origin'] = 'source'): StreamRecord<EventBatch> =>
  aRecord(events, { orgId: 'o', sourceId, receivedMs, origin, events: [] });
const aSource = (sourceId: string, first: number, last: number, heardIn: Source['heardIn'] = 'points'): Source => ({
  orgId: 'o',
  sourceId,
  firstReceivedMs: first,
  lastReceivedMs: last,
  heardIn,
});
const both = (ofPoints: readonly [number, number], ofEvents: readonly [number, number]): Source['heardIn'] => ({
  points: { firstReceivedMs: ofPoints[0], lastReceivedMs: ofPoints[1] },
  events: { firstReceivedMs: ofEvents[0], lastReceivedMs: ofEvents[1] },
});

describe('SourceTracker', () => {
  let folder: string;
  let storage: Storage;
  /** Every record of sources.v1, in order. */
  let written: (Source | null)[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-sources-'));
    storage = await openStorage(folder);
    written = [];
    storage.views.open(sources).changes(({ value }) => written.push(value));
  });
  afterEach(async () => {
    await storage.close();
    await rm(folder, { recursive: true });
  });
  async function begun(lease: Lease = forever): Promise<SourceTracker> {
    const tracker = new SourceTracker(storage.log);
    await tracker.table.begin(lease, [...Array(sources.partitions).keys()]);
    return tracker;
  }
  /** As the runner gives a batch to the tracker. */
  const hear = async (tracker: SourceTracker, records: readonly StreamRecord[], lease = forever): Promise<void> => {
    await deliver(tracker, records, lease);
    await tracker.table.settle();
  };
  const shown = (sourceId: string): Source | undefined => storage.views.open(sources).get(`o/${sourceId}`);

  it('writes a new source at once', async () => {
    await hear(await begun(), [aPoint('a', t), anEvent('b', t + 1)]);
    await eventually(() => expect(written).toEqual([aSource('a', t, t), aSource('b', t + 1, t + 1, 'events')]));
  });

  it('holds newer times until the checkpoint and then writes the newest of each source', async () => {
    const tracker = await begun();
    await hear(tracker, [aPoint('a', t), aPoint('b', t)]);
    await hear(tracker, [aPoint('a', t + 1), anEvent('a', t + 3), aPoint('a', t + 2), aPoint('b', t)]);
    await tracker.table.write();
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t + 3, both([t, t + 2], [t + 3, t + 3]))));
    expect(written).toHaveLength(3);
  });

  it('changes nothing that was written when it hears newer times', async () => {
    const tracker = await begun();
    await hear(tracker, [aPoint('a', t)]);
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t)));
    await hear(tracker, [aPoint('a', t + 1)]);
    expect([shown('a'), ...written]).toEqual([aSource('a', t, t), aSource('a', t, t)]);
    expect(tracker.table.get('o/a')).toEqual(aSource('a', t, t + 1));
    await tracker.table.write();
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t + 1)));
  });

  it('writes newer times without a checkpoint too', async () => {
    const tracker = await begun();
    await hear(tracker, [aPoint('a', t)]);
    await hear(tracker, [aPoint('a', t + 5)]);
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t + 5)));
  });

  it.each([
    ['drops what it holds of a lost lease', false, aSource('a', t, t)],
    ['begins a new lease with what the log says', true, aSource('a', t, t + 9)],
  ] as const)('%s', async (_, isAgain, expected) => {
    let held = true;
    const lease: Lease = { held: () => held };
    const tracker = await begun(lease);
    await hear(tracker, [aPoint('a', t)], lease);
    await hear(tracker, [aPoint('a', t + 5)], lease);
    held = false;
    if (isAgain) {
      await storage.log.append([entry(sources, aSource('a', t, t + 9))]);
      await tracker.table.begin(forever, [...Array(sources.partitions).keys()]);
      await hear(tracker, [aPoint('a', t + 7)]);
    }
    await tracker.table.write();
    await storage.views.open(sources).caughtUp();
    expect(written).toEqual(isAgain ? [aSource('a', t, t), expected] : [expected]);
  });

  it('does not count what the service wrote itself', async () => {
    const tracker = await begun();
    await hear(tracker, [anEvent('a', t, 'service')]);
    await tracker.table.write();
    await hear(tracker, [aPoint('b', t)]);
    await eventually(() => expect(written).toEqual([aSource('b', t, t)]));
  });

  it.each([
    ['nothing for what is known', [t, t + 9], undefined],
    ['an earlier first time', [t - 1], aSource('a', t - 1, t + 9)],
    ['a later last time', [t + 10], aSource('a', t, t + 10)],
    ['both', [t + 11, t - 2], aSource('a', t - 2, t + 11)],
  ] as const)('after a restart writes %s', async (_, received, expected) => {
    await storage.log.append([entry(sources, aSource('a', t, t + 9))]);
    await storage.crash();
    storage = await openStorage(folder);
    const tracker = await begun();
    const seen: (Source | null)[] = [];
    await storage.views.open(sources).ready;
    storage.views.open(sources).changes(({ value }) => seen.push(value));
    for (const receivedMs of received) await hear(tracker, [aPoint('a', receivedMs)]);
    await tracker.table.write();
    await hear(tracker, [aPoint('end', t)]);
    await eventually(() => expect(seen.at(-1)).toEqual(aSource('end', t, t)));
    expect(seen.slice(0, -1)).toEqual(expected ? [expected] : []);
  });

  it.each([
    ['ends with both deletions', [aPoint('a', t), anEvent('a', t + 1), aDeletion(points), aDeletion(events)], null],
    ['ends whichever comes first', [aDeletion(events), anEvent('a', t + 1), aPoint('a', t), aDeletion(points), aDeletion(events)], null],
    [
      'keeps what was heard in the other topic',
      [aPoint('a', t), anEvent('a', t + 1), aDeletion(points)],
      aSource('a', t + 1, t + 1, 'events'),
    ],
    [
      'is a new one after that',
      [aPoint('a', t), aDeletion(points), aDeletion(events), anEvent('a', t + 9)],
      aSource('a', t + 9, t + 9, 'events'),
    ],
    [
      'is a new one in the topic whose deletion has come',
      [aPoint('a', t), anEvent('a', t + 1), aDeletion(points), aPoint('a', t + 9), aDeletion(events)],
      aSource('a', t + 9, t + 9),
    ],
    [
      'that was new by a clock that goes back',
      [aPoint('a', t), aDeletion(points), aPoint('a', t - 9), aDeletion(events)],
      aSource('a', t - 9, t - 9),
    ],
    ['loses only a metric', [aPoint('a', t), aDeletion(points, 'm'), aDeletion(events, 'm')], aSource('a', t, t)],
    ['nobody has heard of', [aDeletion(points), aDeletion(events)], undefined],
  ] as const)('a source %s', async (_, records, expected) => {
    const tracker = await begun();
    for (const record of records) await hear(tracker, [record]);
    await tracker.table.write();
    await hear(tracker, [aPoint('end', t)]);
    await eventually(() => expect(written.at(-1)).toEqual(aSource('end', t, t)));
    expect(written.at(-2)).toEqual(expected);
  });

  it('takes times of an older version for those of either topic', async () => {
    await storage.log.append([entry(sources, aSource('a', t, t + 9, null))]);
    const tracker = await begun();
    await hear(tracker, [aPoint('a', t + 5), aDeletion(points), aPoint('a', t + 10)]);
    await tracker.table.write();
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t + 10, both([t + 10, t + 10], [t, t + 9]))));
    await hear(tracker, [aDeletion(events)]);
    await tracker.table.write();
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t + 10, t + 10)));
  });

  it('tries again at the next checkpoint when the log could not be written', async () => {
    const tracker = await begun();
    await hear(tracker, [aPoint('a', t)]);
    await hear(tracker, [aPoint('a', t + 1)]);
    const append = storage.log.append.bind(storage.log);
    let failures = 1;
    storage.log.append = (entries) => (failures-- > 0 ? Promise.reject(new Error('full')) : append(entries));
    await expect(tracker.table.write()).rejects.toThrow('full');
    await tracker.table.write();
    await eventually(() => expect(shown('a')).toEqual(aSource('a', t, t + 1)));
  });
});
