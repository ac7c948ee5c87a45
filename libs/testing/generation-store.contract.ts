import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventDigest, forever, type DeviceEvent, type EventBatch, type Lease, type PointBatch, type Tags, tagsKey } from '#model';
import {
  compareRows,
  type GenerationStore,
  type KeptFrom,
  keptFromTheBeginning,
  type Moment,
  type Placed,
  type StoredRow,
  type Stores,
} from '#stores';
import { eventually } from './eventually.js';
import { Random } from './random.js';

/** A generation store on a database that other processes use too. */
export interface GenerationStoreUnderTest {
  readonly store: GenerationStore;
  /** Numbers from here on are generations that nobody else has. */
  readonly firstNumber: number;
  /** The store of another process on the same database; the contract closes it. */
  another(): GenerationStore;
  /** The sources that people's SQL sees points of. */
  published(): Promise<readonly string[]>;
}

const t = 1_700_000_040_000;
const [hourMs, dayMs] = [1_699_999_200_000, 1_699_920_000_000];

const points = (sourceId: string, values: readonly (readonly [timestampMs: number, value: number])[], tags: Tags = ''): PointBatch => ({
  orgId: 'o',
  sourceId,
  receivedMs: t,
  series: [
    {
      metric: 'm',
      tags,
      timestampMs: Float64Array.from(values, ([timestampMs]) => timestampMs),
      value: Float64Array.from(values, ([, value]) => value),
    },
  ],
});
const anEvent = (some: Partial<DeviceEvent> = {}): DeviceEvent => ({
  metric: 'door',
  timestampMs: t,
  value: 'open',
  isJson: false,
  tags: '',
  place: 0,
  ordinal: 0,
  ...some,
});
const aBody = (receivedMs: number, ...events: readonly DeviceEvent[]): EventBatch => ({
  orgId: 'o',
  sourceId: 's',
  receivedMs,
  origin: 'source',
  events,
});

const digestOf = (event: DeviceEvent): string => eventDigest(event).toString('hex');
/** The rows of the buckets of one point or of several that share all of theirs, and of their metric. */
const bucketRows = (sourceId: string, ...folded: readonly [min: number, max: number, sum: number, count: number]): StoredRow[] => [
  { what: '1m', row: [t, 'o', sourceId, 'm', ...folded] },
  { what: '1h', row: [hourMs, 'o', sourceId, 'm', ...folded] },
  { what: '1d', row: [dayMs, 'o', sourceId, 'm', ...folded] },
  { what: 'metric names', row: [0, 'o', sourceId, 'm', 1] },
];
const rawRow = (timestampMs: number, value: number, tags: string | null = null): StoredRow => ({
  what: 'raw',
  row: [timestampMs, 'o', 's', 'm', tags, value],
});
const eventRow = (event: DeviceEvent, receivedMs: number): StoredRow => {
  const { timestampMs, metric, value, tags, place } = event;
  return { what: 'events', row: [timestampMs, 'o', 's', metric, digestOf(event), value, tags, receivedMs, place] };
};

/** Every promise of `GenerationStore`; any adapter must pass. What its series and events promise is told by their own contracts. */
export function generationStoreContract(open: () => GenerationStoreUnderTest): void {
  let subject: GenerationStoreUnderTest;
  let store: GenerationStore;
  let number: number;
  let next: number;
  beforeAll(() => {
    subject = open();
    ({ store, firstNumber: next } = subject);
  });
  beforeEach(() => {
    number = next;
    next += 2;
  });
  afterAll(async () => {
    for (let made = subject.firstNumber; made < next; made++) await store.drop(made);
    await store.close();
  });

  let offset = 0;
  const placed = <V>(value: V): Placed<V> => ({ partition: 0, offset: offset++, value });
  const write = async (
    { series, events }: Stores,
    batches: readonly (PointBatch | EventBatch)[],
    lease: Lease = forever,
  ): Promise<void> => {
    for (const batch of batches) await ('series' in batch ? series.write([placed(batch)], lease) : events.write([placed(batch)], lease));
    await series.checkpoint();
    await events.checkpoint();
  };
  const made = async (generation: number, ...batches: readonly (PointBatch | EventBatch)[]): Promise<void> => {
    await store.ensure(generation);
    await write(store.open(generation), batches);
  };
  const rows = async (generation: number, at?: Moment, from = store): Promise<StoredRow[]> => {
    const found: StoredRow[] = [];
    for await (const row of from.rows(generation, at)) found.push(row);
    return found;
  };
  const inAnother = async <T>(work: (other: GenerationStore) => Promise<T>): Promise<T> => {
    const other = subject.another();
    try {
      return await work(other);
    } finally {
      await other.close();
    }
  };
  const unavailable = expect.objectContaining({ code: 'store_unavailable' });

  describe('a generation', () => {
    it('is the same object while it is one of the three that were asked for last, and takes no more once it is not', async () => {
      await inAnother(async (other) => {
        await other.ensure(number);
        const [first, second] = [other.open(1), other.open(number)];
        other.open(2);
        expect(other.open(1)).toBe(first);
        other.open(3);
        expect(other.open(1)).toBe(first);
        expect(other.open(number)).not.toBe(second);
        await expect(write(second, [points('s', [[t, 1]])])).rejects.toEqual(unavailable);
        await expect(rows(number)).resolves.toEqual([]);
      });
    });

    const uses: readonly [string, (generation: number) => Promise<unknown>][] = [
      ['points are written', (generation) => write(store.open(generation), [points('s', [[t, 1]])])],
      ['events are written', (generation) => write(store.open(generation), [aBody(t, anEvent())])],
      ['metrics are asked for', (generation) => store.open(generation).series.metricNames('o', 's')],
      ['events are asked for', (generation) => store.open(generation).events.tail('o', 's', 1)],
      ['rows are asked for', (generation) => rows(generation)],
      ['its shortcomings are asked for', (generation) => store.shortcomings(generation)],
    ];
    it.each(uses)('that was never made is unavailable when %s', async (_, use) => {
      await expect(use(number)).rejects.toEqual(unavailable);
    });

    it('that was never made may be dropped', () => expect(store.drop(number)).resolves.toBeUndefined());

    it('whose tables are lost leaves the next one nothing to take over', async () => {
      await store.ensure(number + 1);
      await store.takeOver(number + 1, number, false);
      await expect(rows(number + 1)).resolves.toEqual([]);
      await expect(store.takeOver(number + 1, number, true)).rejects.toEqual(unavailable);
    });

    it('is empty and lacks nothing when it is made, and may be written to', async () => {
      await store.ensure(number);
      await expect(rows(number)).resolves.toEqual([]);
      await expect(store.shortcomings(number)).resolves.toEqual([]);
      expect([store.whyNotWritten(), store.health()]).toEqual([undefined, undefined]);
    });

    it('keeps its rows when it is made again', async () => {
      await made(number, points('s', [[t, 1]]));
      await store.ensure(number);
      await expect(rows(number)).resolves.toHaveLength(5);
    });

    it('stands apart from the others: neither writing nor dropping one changes another', async () => {
      await made(number, points('s', [[t, 1]]), aBody(t, anEvent()));
      await made(number + 1, points('other', [[t, 2]]));
      const before = await rows(number);
      expect(before.map(({ row }) => row[2])).toEqual(Array(6).fill('s'));
      await store.drop(number + 1);
      await expect(rows(number)).resolves.toEqual(before);
      await expect(rows(number + 1)).rejects.toEqual(unavailable);
    });

    it('is what SQL sees once it is published', async () => {
      await made(number, points('first', [[t, 1]]));
      await made(number + 1, points('second', [[t, 1]]));
      for (const [generation, sourceId] of [
        [number, 'first'],
        [number + 1, 'second'],
      ] as const) {
        // Others may publish theirs on the same database.
        await eventually(async () => {
          await store.publish(generation);
          expect(await subject.published()).toEqual([sourceId]);
        });
      }
    });

    it('is seen by SQL without what is deleted', async () => {
      await made(
        number,
        points('gone', [[t, 1]]),
        { ...points('gone', []), series: [], deleted: { metric: null } },
        points('left', [[t, 1]]),
      );
      await eventually(async () => {
        await store.publish(number);
        expect(await subject.published()).toEqual(['left']);
      });
    });

    it('whose tables are gone fails while another one goes on, and is no trouble once its lease is lost', async () => {
      await store.ensure(number);
      await store.ensure(number + 1);
      const [gone, other] = [store.open(number), store.open(number + 1)];
      let held = true;
      const lease: Lease = { held: () => held };
      await write(gone, [points('s', [[t, 1]])], lease);
      await store.drop(number);
      const progress = { failed: false };
      const failing = write(gone, [points('s', [[t, 2]])], lease).finally(() => (progress.failed = true));
      failing.catch(() => undefined);
      do await write(other, [points('s', [[t, 1]])]);
      while (!progress.failed);
      await expect(failing).rejects.toEqual(unavailable);
      expect(store.health()).toMatch(/\w/);
      held = false;
      expect(store.health()).toBeUndefined();
    });
  });

  describe('rows', () => {
    const later = anEvent({ timestampMs: t + 5, place: 1 });
    const cases: readonly [string, readonly (PointBatch | EventBatch)[], readonly StoredRow[]][] = [
      [
        'a point: itself, its stored buckets and the name of its metric',
        [points('s', [[t, 5]])],
        [rawRow(t, 5), ...bucketRows('s', 5, 5, 5, 1)],
      ],
      [
        'two points of one minute: they share their buckets',
        [
          points('s', [
            [t + 1, 5],
            [t, -2],
          ]),
        ],
        [rawRow(t, -2), rawRow(t + 1, 5), ...bucketRows('s', -2, 5, 3, 2)],
      ],
      [
        'a point that comes again with another value: the later value',
        [points('s', [[t, 5]]), points('s', [[t, 7]])],
        [rawRow(t, 7), ...bucketRows('s', 7, 7, 7, 1)],
      ],
      [
        'points that differ in tags only: each, without tags first',
        [points('s', [[t, 5]], tagsKey({ b: '2', a: '1' })), points('s', [[t, 6]])],
        [rawRow(t, 6), rawRow(t, 5, '[["a","1"],["b","2"]]'), ...bucketRows('s', 5, 6, 11, 2)],
      ],
      ['events by time', [aBody(t, later, anEvent())], [eventRow(anEvent(), t), eventRow(later, t)]],
      [
        'an event that came in several bodies: the least receive time, before the least place',
        [aBody(t + 9, anEvent({ place: 0 })), aBody(t + 1, anEvent({ place: 4 })), aBody(t + 1, anEvent({ place: 3 }))],
        [eventRow(anEvent({ place: 3 }), t + 1)],
      ],
    ];
    it.each(cases)('of %s', async (_, batches, expected) => {
      await made(number, ...batches);
      await expect(rows(number)).resolves.toEqual(expected);
    });

    it('are in the order of compareRows, each thing once, and the same however the records were cut into checkpoints', async () => {
      const random = new Random(7);
      const batches = Array.from({ length: 12 }, (_, at): PointBatch | EventBatch => {
        const times = Array.from({ length: 4 }, () => t + random.whole(-3, 3) * 30 * 60_000 + random.whole(0, 2));
        const tags = random.pick(['', tagsKey({ core: '1' }), tagsKey({ core: '\u{1F600}' }), tagsKey({ core: '\uFFFD' })]);
        if (at % 3 > 0)
          return points(
            random.pick(['s', '\uFFFD', '\u{1F600}']),
            times.map((time) => [time, random.whole(0, 9)]),
            tags,
          );
        return aBody(t + random.whole(0, 3), ...times.map((timestampMs, place) => anEvent({ timestampMs, place, tags, ordinal: place })));
      });
      await made(number, ...batches);
      await store.ensure(number + 1);
      for (const batch of batches) await write(store.open(number + 1), [batch]);
      const found = await rows(number);
      expect(new Set(found.map(({ what }) => what)).size).toBe(6);
      expect(found.filter((row, at) => at > 0 && compareRows(found[at - 1]!, row) >= 0)).toEqual([]);
      await expect(rows(number + 1)).resolves.toEqual(found);
      for (const at of ['raw', '1m', 'events', 'metric names'] as const) {
        const { what, row } = found.findLast((one) => one.what === at)!;
        const its = found.filter((one) => one.what === what && one.row[0] === row[0]);
        await expect(rows(number, { what, timestampMs: row[0] })).resolves.toEqual(its);
      }
      await expect(rows(number, { what: 'raw', timestampMs: 1 })).resolves.toEqual([]);
    });

    it('that were checkpointed are there for another process, also after a crash', async () => {
      const crashed = subject.another();
      await crashed.ensure(number);
      await write(crashed.open(number), [points('s', [[t, 5]]), aBody(t, anEvent())]);
      await crashed.crash();
      await expect(inAnother((other) => rows(number, undefined, other))).resolves.toHaveLength(6);
    });
  });

  describe('what is kept', () => {
    const at = (dayOf: number): number => dayMs + dayOf * 86_400_000;
    const kinds: readonly StoredRow['what'][] = ['raw', '1m', '1h', '1d', 'events'];
    const times = async (generation: number, from = store): Promise<number[][]> => {
      const found = await rows(generation, undefined, from);
      return kinds.map((kind) => found.filter(({ what }) => what === kind).map(({ row }) => (row[0] - dayMs) / 86_400_000));
    };
    const days = [0, 1, 2];
    const threeDays = points(
      's',
      days.map((dayOf) => [at(dayOf), dayOf]),
    );
    const threeEvents = aBody(t, ...days.map((dayOf) => anEvent({ timestampMs: at(dayOf) })));

    it('is everything at first, and no moment moves back', async () => {
      await made(number);
      await expect(store.keptFrom(number)).resolves.toEqual(keptFromTheBeginning);
      await store.keepFrom(number, { raw: at(2), '1m': at(1) });
      await store.keepFrom(number, { raw: at(1), events: at(1) });
      const expected = { ...keptFromTheBeginning, raw: at(2), '1m': at(1), events: at(1) };
      await expect(store.keptFrom(number)).resolves.toEqual(expected);
      await expect(inAnother((other) => other.keptFrom(number))).resolves.toEqual(expected);
    });

    it.each<[string, Partial<KeptFrom>, number[][]]>([
      ['points', { raw: at(2) }, [[2], [0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]]],
      ['points, finer buckets and events', { raw: at(3), '1m': at(2), '1h': at(1), events: at(2) }, [[], [2], [1, 2], [0, 1, 2], [2]]],
    ])('is there for all, also once the room of the rest is given back: %s', async (_, from, expected) => {
      await made(number, threeDays, threeEvents);
      await store.keepFrom(number, from);
      await store.dropBefore(number, await store.keptFrom(number));
      await expect(times(number)).resolves.toEqual(expected);
      await expect(inAnother((other) => times(number, other))).resolves.toEqual(expected);
    });

    it('takes nothing that comes too late, and what is kept of that day', async () => {
      await made(number, threeDays, threeEvents);
      const before = await rows(number);
      await store.keepFrom(number, { raw: at(1), events: at(1) });
      const late = [
        points('s', [
          [at(0), 9],
          [at(0) + 1, 9],
        ]),
        aBody(t, anEvent({ timestampMs: at(0), value: 'late' })),
      ];
      await write(store.open(number), late);
      const kept = before.filter(({ what, row }) => row[0] !== at(0) || !['raw', 'events'].includes(what));
      await expect(rows(number)).resolves.toEqual(kept);
      await write(store.open(number), [points('s', [[at(1) + 1, 9]])]);
      const { row } = (await rows(number, { what: '1d', timestampMs: at(1) }))[0]!;
      expect(row.slice(4)).toEqual([1, 9, 10, 2]);
    });

    it.each([false, true])('is taken over by the next generation, everything: %s', async (everything) => {
      await made(number, threeDays, threeEvents);
      await store.keepFrom(number, { raw: at(2), '1m': at(1), events: at(1) });
      const before = await rows(number);
      await store.ensure(number + 1);
      await store.takeOver(number + 1, number, everything);
      await expect(store.hasEverything(number + 1)).resolves.toBe(everything);
      const old = before.filter(({ what, row }) => what === 'metric names' || (row[0] < at(2) && what !== 'events'));
      await expect(rows(number + 1)).resolves.toEqual(everything ? before : old);
      const again = everything ? [points('s', [[at(2) + 1, 5]])] : [threeDays, threeEvents, points('s', [[at(2) + 1, 5]])];
      await write(store.open(number + 1), again);
      await write(store.open(number), [points('s', [[at(2) + 1, 5]])]);
      await expect(rows(number + 1)).resolves.toEqual(await rows(number));
    });

    it.each([false, true])('is not taken by a deletion from before it that comes again, everything: %s', async (everything) => {
      const all = [[at(0), 1] as const, [at(1), 2] as const, [at(2), 3] as const];
      const deletion: PointBatch = { ...points('s', []), series: [], deleted: { metric: null } };
      const records = [points('s', all), points('t', all), deletion, points('s', all.slice(1))].map(placed);
      const take = async (generation: number, its: readonly Placed<PointBatch>[]): Promise<StoredRow[]> => {
        const { series } = store.open(generation);
        for (const record of its) await series.write([record], forever);
        await series.checkpoint();
        return rows(generation);
      };
      await store.ensure(number);
      await take(number, records);
      await store.keepFrom(number, { raw: at(2) });
      const before = await rows(number);
      const left = before.filter(({ what, row }) => what === '1d' && row[2] === 's');
      expect(left.map(({ row }) => row[0])).toEqual([at(1), at(2)]);
      await store.ensure(number + 1);
      await store.takeOver(number + 1, number, everything);
      await expect(take(number + 1, records)).resolves.toEqual(before);
      await expect(take(number + 1, records)).resolves.toEqual(before);
      const others = before.filter(({ row }) => row[2] === 't');
      for (const generation of [number, number + 1]) await expect(take(generation, [placed(deletion)])).resolves.toEqual(others);
    });

    it('is asked for by others too', async () => {
      await made(number, threeDays);
      const found: StoredRow[] = [];
      for await (const row of store.rows(number, undefined, { ...keptFromTheBeginning, raw: at(2) })) found.push(row);
      expect(found.filter(({ what }) => what === 'raw').map(({ row }) => row[0])).toEqual([at(2)]);
      await expect(store.keptFrom(number)).resolves.toEqual(keptFromTheBeginning);
    });
  });

  it.each([['close' as const], ['crash' as const]])('takes no more after %s', async (end) => {
    const other = subject.another();
    await other.ensure(number);
    const stores = other.open(number);
    await other[end]();
    await expect(write(stores, [points('s', [[t, 1]])])).rejects.toEqual(unavailable);
    await expect(write(stores, [aBody(t, anEvent())])).rejects.toEqual(unavailable);
    await expect(rows(number)).resolves.toEqual([]);
  });

  it('has figures, each of which can be read and says what it is', () => {
    const names = store.metrics.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const metric of store.metrics) expect([metric.help.length > 0, metric.read()]).toEqual([true, expect.anything()]);
  });
}
