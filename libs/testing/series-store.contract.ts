import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  BoundSources,
  bucketStartMs,
  compareUtf8,
  forever,
  intervalMs,
  type PointBatch,
  type RollupInterval,
  rollupIntervals,
  type SeriesRun,
  type Tags,
  noTags,
  tagsKey,
} from '#model';
import type { BucketAnswer, BucketColumns, FleetAnswer, Placed, SeriesStore } from '#stores';
import { Random } from './random.js';
import { aSeriesHistory, type SeriesHistory } from './series-history.js';
import { type BucketRow, type Kept, type RawRow, type TaggedRow, SeriesModel } from './series-model.js';

/** A series store on data of its own. */
export interface SeriesStoreUnderTest {
  readonly store: SeriesStore;
  /** Resolves when all reads see what was written; left out where they do as soon as it is. */
  readonly visible?: () => Promise<void>;
  /** Resolves when what the store does by itself with what it holds is done; left out where it does nothing. */
  readonly settled?: () => Promise<void>;
  /** Ends it as a crash would and opens the same data again. */
  crash(): Promise<SeriesStoreUnderTest>;
  close(): Promise<void>;
}

const t = 1_700_000_040_000;
const minute = 60_000;
const all = 10_000;
const everything = { startMs: 0, endMs: 1e15 };
/** Many times what one takes where each of its steps waits for a busy server. */
const longestHistoryMs = 240_000;

type Point = readonly [timestampMs: number, value: number];

const aRun = (metric: string, points: readonly Point[], tags: Tags = ''): SeriesRun => ({
  metric,
  tags,
  timestampMs: Float64Array.from(points, ([timestampMs]) => timestampMs),
  value: Float64Array.from(points, ([, value]) => value),
});

/** Tag sets in the order in which points of one time stand; none first. The astral character stands last only by its UTF-8. */
const tagsInOrder: readonly Tags[] = [
  noTags,
  '[["",""]]',
  '[["a","1"],["b","2"]]',
  '[["a","1]"]]',
  tagsKey({ 'a":"1': '' }),
  '[["core","0"]]',
  '[["core","1"]]',
  '[["core","10"]]',
  '[["core","2"]]',
  '[["core","\uFFFD"]]',
  '[["core","\u{1F600}"]]',
  '[["__proto__","x"]]',
].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/**
 * Every promise of `SeriesStore`; any adapter must pass.
 * @param fewest histories that are lived through, unless the environment says how many.
 * @param bodyDays in which one body has points.
 */
export function seriesStoreContract(open: () => Promise<SeriesStoreUnderTest>, fewest = 8, bodyDays = 10_000): void {
  let subject: SeriesStoreUnderTest;
  let store: SeriesStore;
  let org = '';
  let orgs = 0;
  let offset = 0;
  beforeAll(async () => void (subject = await open()));
  beforeEach(() => {
    store = subject.store;
    org = `org-${orgs++}`;
  });
  afterAll(() => subject.close());
  const crash = async (): Promise<SeriesStore> => {
    subject = await subject.crash();
    store = subject.store;
    return store;
  };

  const placed = (series: readonly SeriesRun[], sourceId = 's'): Placed<PointBatch> => ({
    partition: 0,
    offset: offset++,
    value: { orgId: org, sourceId, receivedMs: t, series },
  });
  const visible = async (): Promise<void> => subject.visible?.();
  const write = (...series: readonly SeriesRun[]): Promise<void> => store.write([placed(series)], forever);
  const raw = async (limit = all, window = everything, metrics?: readonly string[]): Promise<Kept<RawRow>> => {
    await visible();
    return rawRows(await store.raw({ orgId: org, sourceId: 's', metrics, window, limit }));
  };
  const tagged = async (limit: number, window = everything): Promise<Kept<TaggedRow>> => {
    await visible();
    return taggedRows(await store.raw({ orgId: org, sourceId: 's', metrics: undefined, window, limit, withTags: true }));
  };
  const buckets = async (interval: RollupInterval, window = everything, limit = all): Promise<Kept<BucketRow>> => {
    await visible();
    return bucketRows(await store.buckets({ orgId: org, sourceId: 's', metrics: undefined, window, limit, interval }));
  };

  describe('a value', () => {
    it.each([
      [0],
      [21.5],
      [-0.0001],
      [0.1 + 0.2],
      [1 / 3],
      [2 ** 53],
      [-(2 ** 60)],
      [1e300],
      [Number.MAX_VALUE],
      [-Number.MAX_VALUE],
      [Number.MIN_VALUE],
      [123_456_789.123_456],
    ])('of %d comes back as it was, from memory and from disk', async (value) => {
      await write(aRun('m', [[t, value]]));
      await expect(raw()).resolves.toEqual({ rows: [['m', t, value]], truncated: false });
      await store.checkpoint();
      await expect(raw()).resolves.toEqual({ rows: [['m', t, value]], truncated: false });
    });

    it('of -0 is equal to 0', async () => {
      await write(aRun('m', [[t, -0]]));
      const { rows } = await raw();
      expect(rows[0]![2] === 0).toBe(true);
    });
  });

  describe('a time', () => {
    it.each([[1], [t], [t + 0.0 + 1], [4_102_444_800_000], [253_402_300_799_999]])('of %d is kept', async (timestampMs) => {
      await write(aRun('m', [[timestampMs, 1]]));
      await store.checkpoint();
      await expect(raw()).resolves.toMatchObject({ rows: [['m', timestampMs, 1]] });
      const { rows } = await buckets('1d');
      expect(rows.map(({ timestampMs: startMs }) => startMs)).toEqual([timestampMs - (timestampMs % 86_400_000)]);
    });

    it(
      `in each of ${bodyDays} days in one body is kept`,
      async () => {
        const points = Array.from({ length: bodyDays }, (_, day): Point => [day * 86_400_000 + 1, day]);
        await write(aRun('m', points.toReversed()));
        await store.checkpoint();
        await expect(raw()).resolves.toEqual({ rows: points.map(([timestampMs, value]) => ['m', timestampMs, value]), truncated: false });
        for (const interval of rollupIntervals) {
          const { rows } = await buckets(interval);
          expect(rows.map(({ avg }) => avg)).toEqual(points.map(([, value]) => value));
        }
      },
      longestHistoryMs,
    );
  });

  describe('of equal times', () => {
    const twice: readonly [string, () => Promise<void>][] = [
      [
        'in one run the later position',
        () =>
          write(
            aRun('m', [
              [t, 1],
              [t, 2],
              [t, 3],
            ]),
          ),
      ],
      ['in one body the later run', () => write(aRun('m', [[t, 1]]), aRun('n', [[t, 0]]), aRun('m', [[t, 3]]))],
      ['in one call the later batch', () => store.write([placed([aRun('m', [[t, 9]])]), placed([aRun('m', [[t, 3]])])], forever)],
      ['in two calls the later', async () => (await write(aRun('m', [[t, 9]])), await write(aRun('m', [[t, 3]])))],
      [
        'around a checkpoint the later',
        async () => (await write(aRun('m', [[t, 9]])), await store.checkpoint(), await write(aRun('m', [[t, 3]]))),
      ],
    ];
    it.each(twice)('%s wins, in raw series and in rollups', async (_, writeBoth) => {
      await writeBoth();
      for (const settle of [() => Promise.resolve(), () => store.checkpoint()]) {
        await settle();
        await expect(raw(all, everything, ['m'])).resolves.toMatchObject({ rows: [['m', t, 3]] });
        const { rows } = await buckets('1h');
        expect(rows.find(({ name }) => name === 'm')).toMatchObject({ min: 3, max: 3, avg: 3, count: 1 });
      }
    });
  });

  describe('a record that comes again', () => {
    it('is not taken again after a later one', async () => {
      const [batch, later] = [placed([aRun('m', [[t, 1]])]), placed([aRun('m', [[t, 2]])])];
      await store.write([batch, later], forever);
      await store.write([batch], forever);
      await expect(raw()).resolves.toMatchObject({ rows: [['m', t, 2]] });
    });

    it('changes nothing once all that came after it has come again too', async () => {
      const [batch, later] = [placed([aRun('m', [[t, 1]])]), placed([aRun('m', [[t, 2]])])];
      await store.write([batch, later], forever);
      await store.checkpoint();
      await crash();
      await store.write([batch], forever);
      await store.write([later], forever);
      await expect(raw()).resolves.toMatchObject({ rows: [['m', t, 2]] });
      await expect(buckets('1m')).resolves.toMatchObject({ rows: [{ avg: 2, count: 1 }] });
    });
  });

  describe('the row cap', () => {
    const letters: readonly SeriesRun[] = ['\u{1F600}', 'b', '\uFFFD', 'a'].map((metric) =>
      aRun(metric, [
        [t, 1],
        [t + minute, 2],
        [t + 2 * minute, 3],
      ]),
    );
    const order = ['a', 'b', '\uFFFD', '\u{1F600}'];
    const rows = [0, 1, 2].flatMap((at) => order.map((metric) => [t + at * minute, metric] as const));

    it.each([1, 3, 4, 5, 11, 12, 13])('of %d keeps the first rows by time and the bytes of the metric', async (limit) => {
      await write(...letters);
      for (const answer of [await raw(limit), await buckets('1m', everything, limit)]) {
        const kept = answer.rows.map((row) => ('name' in row ? [row.timestampMs, row.name] : [row[1], row[0]]));
        expect(kept).toEqual(rows.slice(0, limit));
        expect(answer.truncated).toBe(limit < rows.length);
      }
    });

    it.each([1, 2, 3, 4, 6, 100])('of %d keeps the first rows of a fleet, and every source', async (limit) => {
      const ids = ['a', 'B', 'a.b', 'z9'];
      await store.write(
        ids.map((id) =>
          placed(
            [
              aRun('m', [
                [t, 1],
                [t + minute, 2],
              ]),
            ],
            id,
          ),
        ),
        forever,
      );
      await store.write([placed([aRun('other', [[t, 1]])], 'x'), placed([aRun('m', [[1, 1]])], 'y')], forever);
      const window = { startMs: t, endMs: t + 10 * minute };
      await visible();
      const { sources, truncated } = await store.fleet({ orgId: org, metric: 'm', window, interval: '1m', limit });
      expect(sources).toEqual(
        ['B', 'a', 'a.b', 'z9'].map((sourceId, at) => ({ sourceId, rows: Number(at < limit) + Number(at + 4 < limit) })),
      );
      expect(truncated).toBe(limit < 8);
    });

    it.each([
      ['1m', 5],
      ['10m', 1],
      ['10m', 7],
      ['10m', 40],
      ['1h', 7],
      ['1d', 3],
    ] as const)('of %s and %d rows keeps the first of a fleet over days, and every source', async (interval, limit) => {
      const model = new SeriesModel();
      const day = Math.floor(t / 86_400_000) * 86_400_000;
      const sources = Array.from({ length: 12 }, (_, at) => {
        // The last ones only in the minutes before and after an hour.
        const times =
          at < 9 ? [0, 1, 2, 3].map((days) => day + days * 86_400_000 + at * 3_599_000) : [day + (at + 31) * 3_600_000 - (at % 2)];
        return placed(
          [
            aRun(
              'm',
              times.map((time) => [time, at]),
            ),
          ],
          `s${at}`,
        );
      });
      await store.write(sources, forever);
      for (const { value } of sources) model.write(value);
      await visible();
      for (const window of [
        everything,
        { startMs: day + 1000, endMs: day + 3 * 86_400_000 },
        { startMs: day + 5_000_000, endMs: day + 6_000_000 },
      ]) {
        const query = { orgId: org, metric: 'm', window, interval, limit };
        const answer = await store.fleet(query);
        const expected = model.fleet(query);
        expect(answer.sources.map(({ sourceId }) => sourceId)).toEqual(expected.sources);
        expectSame(bucketRows({ series: bySource(answer), truncated: answer.truncated }), expected);
      }
    });

    it.each([
      [
        ['a', 'a.*'],
        ['a', 'a.b', 'a.c'],
      ],
      [
        ['a*', 'z9'],
        ['a', 'a.b', 'a.c', 'ab', 'z9'],
      ],
      [['nobody', 'x_*'], []],
      [[], []],
    ])('of the sources %j is of those alone, whatever rows others have', async (patterns, expected) => {
      const ids = ['a', 'a.b', 'a.c', 'ab', 'B', 'xy', 'z9'];
      await store.write(
        ids.map((id) => placed([aRun('m', [[t, 1]])], id)),
        forever,
      );
      await visible();
      const query = { orgId: org, metric: 'm', window: everything, interval: '1m', sources: new BoundSources(patterns) } as const;
      for (const limit of [1, all]) {
        const { sources, truncated } = await store.fleet({ ...query, limit });
        expect(sources.map(({ sourceId }) => sourceId)).toEqual(expected);
        expect(truncated).toBe(expected.length > limit);
      }
    });

    it('leaves each row with its source while sources are added', async () => {
      const add = (id: string, value: number): Placed<PointBatch> => placed([aRun('m', [[t, value]])], id);
      await store.write([add('b', 2), add('d', 4)], forever);
      const query = { orgId: org, metric: 'm', window: everything, interval: '1m', limit: all } as const;
      await visible();
      const first = store.fleet(query);
      await store.write([add('a', 1), add('c', 3)], forever);
      await visible();
      const values = (answer: FleetAnswer): unknown[] => bySource(answer).map(({ metric, max }) => [metric, ...max]);
      const later = await store.fleet(query);
      expect(values(later)).toEqual(Array.from('abcd', (id, at) => [id, at + 1]));
      const answer = await first;
      expect(values(later)).toEqual(expect.arrayContaining(values(answer)));
    });

    it('holds for a series of many more points than it keeps', async () => {
      const points = Array.from({ length: 60_000 }, (_, at): Point => [t + at * 1000, at % 100]);
      for (let from = 0; from < points.length; from += 10_000) await write(aRun('m', points.slice(from, from + 10_000)));
      const { rows: kept, truncated } = await raw(all, { startMs: t + 500, endMs: 1e15 });
      expect(kept.length).toBe(all);
      expect(kept.at(-1)).toEqual(['m', t + 10_000_000, 0]);
      expect(truncated).toBe(true);
      await expect(buckets('1m')).resolves.toMatchObject({ truncated: false });
    });
  });

  describe('a window', () => {
    it.each([
      [t, t + 2000, [0, 1]],
      [t + 1, t + 2000, [1]],
      [t, t + 2001, [0, 1, 2]],
      [t + 1001, t + 1999, []],
      [t - 5000, t, []],
      [t + 999.5, t + 2000.5, [1, 2]],
    ])('[%d, %d) holds raw points %j', async (startMs, endMs, values) => {
      await write(
        aRun('m', [
          [t, 0],
          [t + 1000, 1],
          [t + 2000, 2],
        ]),
      );
      const { rows } = await raw(all, { startMs, endMs });
      expect(rows.map(([, , value]) => value)).toEqual(values);
    });

    it.each([
      [t + 59_999, t + 2 * minute, ['0', '1']],
      [t, t + minute + 1, ['0', '1']],
      [t + minute, t + minute + 1, ['1']],
      [t + 2 * minute, t + 3 * minute, []],
    ] as const)('[%d, %d) holds the buckets that begin in it, its start moved down: %j', async (startMs, endMs, names) => {
      await write(
        aRun('m', [
          [t + 59_000, 0],
          [t + minute + 59_999, 1],
        ]),
      );
      const { rows } = await buckets('1m', { startMs, endMs });
      expect(rows.map(({ avg }) => String(avg))).toEqual(names);
    });
  });

  describe('sums', () => {
    const most = Number.MAX_VALUE;
    it.each([
      ['that pass the largest double on their way', [most, most, -most, -most, 7], 7 / 5],
      ['beyond the largest double', [most, most, most / 2], most * (2.5 / 3)],
      ['below the smallest double', [-most, -most], -most],
      ['of tiny values', [5e-324, 5e-324], 5e-324],
    ])('%s, in one body, over runs and over intervals', async (_, values, avg) => {
      for (const [at, value] of values.entries()) {
        await write(
          aRun('m', [
            [t - (t % 86_400_000) + at * 1000, value],
            [t - (t % 86_400_000) + (at + 1) * 3_600_000, value],
          ]),
        );
        await store.checkpoint();
      }
      const { rows } = await buckets('1m');
      expectClose(rows[0]!, { ...rows[0]!, avg });
      const days = await buckets('1d');
      expectClose(days.rows[0]!, { ...days.rows[0]!, avg });
      expect(days.rows[0]!.count).toBe(2 * values.length);
    });
  });

  describe('what nobody has', () => {
    it('is answered as nothing', async () => {
      await write(aRun('m', [[t, 1]]));
      const query = { orgId: org, sourceId: 'nobody', metrics: undefined, window: everything, limit: all };
      await visible();
      await expect(store.metricNames(org, 'nobody')).resolves.toEqual([]);
      await expect(store.metricNames('nobody', 's')).resolves.toEqual([]);
      await expect(store.latest(org, 'nobody', everything)).resolves.toEqual([]);
      await expect(store.raw(query)).resolves.toEqual({ series: [], truncated: false });
      await expect(store.buckets({ ...query, interval: '1m' })).resolves.toEqual({ series: [], truncated: false });
      await expect(store.fleet({ orgId: org, metric: 'x', window: everything, interval: '1m', limit: all })).resolves.toEqual({
        sources: [],
        columns: Object.fromEntries(['timestampMs', 'min', 'max', 'avg', 'count'].map((name) => [name, new Float64Array(0)])),
        truncated: false,
      });
      await expect(raw(all, everything, ['x', 'm', 'm', '__proto__'])).resolves.toMatchObject({ rows: [['m', t, 1]] });
      await expect(raw(all, everything, [])).resolves.toEqual({ rows: [], truncated: false });
    });

    it('is not asked for in vain among thousands of names', async () => {
      const names = Array.from({ length: 4100 }, (_, at) => `m${String(at).padStart(4, '0')}`);
      await write(aRun('m0000', [[t, 1]]), aRun('m4099', [[t, 4]]), aRun('m2000', [[t + minute, 3]]), aRun('x', [[t, 5]]));
      const rows = [['m0000', t, 1], ['m4099', t, 4], ['m2000', t + minute, 3] as const];
      for (const limit of [2, 3]) {
        await expect(raw(limit, everything, names)).resolves.toEqual({ rows: rows.slice(0, limit), truncated: limit < 3 });
        const query = { orgId: org, sourceId: 's', metrics: names, window: everything, limit, interval: '1m' } as const;
        const answer = bucketRows(await store.buckets(query));
        expect(answer.rows.map(({ name }) => name)).toEqual(rows.slice(0, limit).map(([name]) => name));
        expect(answer.truncated).toBe(limit < 3);
      }
    });

    it('is not a metric without points', async () => {
      await write(aRun('empty', []), aRun('m', [[t, 1]]));
      await visible();
      await expect(store.metricNames(org, 's')).resolves.toEqual(['m']);
    });
  });

  describe('points that differ in tags only', () => {
    /** Every way from a body to the disk. */
    const settle = [() => Promise.resolve(), () => store.checkpoint(), async () => (await crash(), undefined)];
    const found = async (): Promise<unknown> => ({
      raw: await raw(),
      buckets: await Promise.all(rollupIntervals.map(async (interval) => (await buckets(interval)).rows)),
      latest: await store.latest(org, 's', everything),
    });
    /** What must be found of points of one time, whose small whole numbers are summed exactly. */
    const foundOf = (values: readonly number[]): unknown => {
      const [min, max, count] = [Math.min(...values), Math.max(...values), values.length];
      const row = { name: 'm', min, max, count, avg: values.reduce((sum, value) => sum + value, 0) / count };
      return {
        raw: { rows: values.map((value) => ['m', t, value]), truncated: false },
        buckets: rollupIntervals.map((interval) => [{ ...row, timestampMs: bucketStartMs(t, intervalMs[interval]) }]),
        latest: [['m', values.at(-1)]],
      };
    };
    const runs = tagsInOrder.map((tags, value) => aRun('m', [[t, value]], tags));
    const ways: readonly [string, () => Promise<unknown>][] = [
      ['in one body', () => write(...runs.toReversed())],
      [
        'in one call',
        () =>
          store.write(
            runs.toReversed().map((run) => placed([run])),
            forever,
          ),
      ],
      [
        'around checkpoints',
        async () => {
          for (const run of [...runs.slice(6), ...runs.slice(0, 6)]) {
            await write(run);
            await store.checkpoint();
          }
        },
      ],
    ];

    it.each(ways)('%s are all there, ordered by the UTF-8 of their tags', async (_, writeAll) => {
      await writeAll();
      for (const step of settle) {
        await step();
        expect(await found()).toEqual(foundOf(tagsInOrder.map((__, value) => value)));
      }
    });

    it('are as many when they are sent again, and one that is sent with another value replaces only itself', async () => {
      await write(...runs);
      await store.checkpoint();
      await write(...runs.toReversed());
      await write(aRun('m', [[t, -7]], tagsInOrder[3]), aRun('m', [[t, -8]]));
      for (const step of settle) {
        await step();
        expect(await found()).toEqual(foundOf([-8, 1, 2, -7, ...tagsInOrder.keys().drop(4)]));
      }
    });

    it('are one point when only the order of the keys differs', async () => {
      await write(aRun('m', [[t, 1]], tagsKey({ a: '1', b: '2' })));
      await store.checkpoint();
      await write(aRun('m', [[t, 2]], tagsKey({ b: '2', a: '1' })));
      for (const step of settle) {
        await step();
        expect(await found()).toEqual(foundOf([2]));
      }
    });

    it('stand between earlier and later points of their series', async () => {
      const cores = (from: number): SeriesRun[] =>
        [tagsKey({ core: '1' }), '', tagsKey({ core: '0' })].map((tags, core) =>
          aRun(
            'm',
            Array.from({ length: 4 }, (_, at): Point => [t + 20_000 * (from + at), 10 * core + from + at]),
            tags,
          ),
        );
      const model = new SeriesModel();
      for (const from of [3, 0, 2, 5]) {
        const batch = placed(cores(from));
        model.write(batch.value);
        await store.write([batch], forever);
        if (from === 0) await store.checkpoint();
      }
      for (const step of settle) {
        await step();
        for (const limit of [1, 2, 3, 4, 5, 13, all]) {
          const query = { orgId: org, sourceId: 's', metrics: undefined, window: { startMs: t, endMs: t + 5 * minute }, limit };
          await expect(raw(limit, query.window)).resolves.toEqual(model.raw(query));
          await expect(tagged(limit, query.window)).resolves.toEqual(model.tagged(query));
          for (const interval of rollupIntervals)
            expectSame(await buckets(interval, query.window, limit), model.buckets({ ...query, interval }));
        }
      }
    });

    it('are cut in the order of metric and tags where too many have one time', async () => {
      const metrics = ['b', '\u{1F600}', 'a', '\uFFFD'];
      const model = new SeriesModel();
      for (const some of [tagsInOrder.slice(0, 5).toReversed(), tagsInOrder.slice(3)]) {
        const batch = placed(
          metrics.flatMap((metric) =>
            some.map((tags, at) =>
              aRun(
                metric,
                [
                  [t, at],
                  [t + 1, at],
                ],
                tags,
              ),
            ),
          ),
        );
        model.write(batch.value);
        await store.write([batch], forever);
        await store.checkpoint();
      }
      for (const limit of [1, 4, 11, 12, 13, 24, 25, 47, 48, 49, 95, 96, 97]) {
        const query = { orgId: org, sourceId: 's', metrics: undefined, window: everything, limit };
        await expect(raw(limit)).resolves.toEqual(model.raw(query));
        await expect(tagged(limit)).resolves.toEqual(model.tagged(query));
      }
    });

    it(
      'may be more than one answer holds',
      async () => {
        const random = new Random(7);
        const tagSets = Array.from({ length: all + 3 }, (_, at) => tagsKey({ cell: `${at}`, 'é😀': `\u{1F600}${at % 7}` }));
        const order = tagSets.map((_, at) => at).toSorted((a, b) => compareUtf8(tagSets[a]!, tagSets[b]!));
        const around: readonly Point[] = [
          [t - 1, -1],
          [t + 1, -2],
        ];
        await write(aRun('m', around));
        // In pieces, each on the disk by itself, some points in two of them.
        const shuffled = random.shuffled(order);
        for (let from = 0; from < shuffled.length; from += 1200) {
          const some = shuffled.slice(Math.max(0, from - 100), from + 1200);
          await write(...some.map((at) => aRun('m', [[t, at]], tagSets[at])));
          await store.checkpoint();
        }
        for (const step of [() => Promise.resolve(), async () => subject.settled?.(), crash]) {
          await step();
          const expected = [['m', t - 1, -1], ...order.map((at) => ['m', t, at]), ['m', t + 1, -2]];
          await expect(raw()).resolves.toEqual({ rows: expected.slice(0, all), truncated: true });
          await expect(raw(expected.length)).resolves.toEqual({ rows: expected, truncated: false });
          await expect(raw(all, { startMs: t, endMs: t + 1 })).resolves.toEqual({ rows: expected.slice(1, all + 1), truncated: true });
          await expect(raw(all, { startMs: t + 1, endMs: t + 2 })).resolves.toEqual({ rows: expected.slice(-1), truncated: false });
          await expect(buckets('1m')).resolves.toMatchObject({ rows: [{ count: 1 }, { min: -2, max: all + 2, count: all + 4 }] });
          await expect(buckets('1h')).resolves.toMatchObject({ rows: [{ count: all + 5 }] });
          await expect(store.latest(org, 's', { startMs: t, endMs: t + 1 })).resolves.toEqual([['m', order.at(-1)]]);
        }
      },
      longestHistoryMs,
    );
  });

  describe('the newest values', () => {
    it('are of the newest time in the window, not of the last that came', async () => {
      await write(
        aRun('b', [
          [t + 5, 5],
          [t + 3, 3],
        ]),
        aRun('a', [[t, 1]]),
        aRun('late', [[t - 5000, 1]]),
        aRun('ahead', [[t + 9999, 1]]),
      );
      await store.checkpoint();
      await write(aRun('b', [[t + 4, 4]]), aRun('a', [[t, 2]]));
      await visible();
      await expect(store.latest(org, 's', { startMs: t - 100, endMs: t + 100 })).resolves.toEqual([
        ['a', 2],
        ['b', 5],
      ]);
    });
  });

  describe('any name', () => {
    it.each([["'); DROP TABLE run;--"], ['__proto__'], ['a,b\n"c"'], ['\u{10FFFF}'], ['é'.repeat(128)]])('%j is kept', async (metric) => {
      await write(aRun(metric, [[t, 1]], tagsKey({ [metric]: metric })));
      await store.checkpoint();
      await crash();
      await expect(store.metricNames(org, 's')).resolves.toEqual([metric]);
      await expect(raw()).resolves.toMatchObject({ rows: [[metric, t, 1]] });
    });
  });

  const aDeletion = (metric: string | null, sourceId = 's'): Placed<PointBatch> => {
    const { value, ...place } = placed([], sourceId);
    return { ...place, value: { ...value, deleted: { metric } } };
  };
  const moments: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['at once', visible],
    ['after a checkpoint', () => store.checkpoint()],
    ['after a crash', () => store.checkpoint().then(crash)],
    ['once the store has done what it does by itself', async () => subject.settled?.()],
  ];
  const known = async (): Promise<unknown> => ({
    names: await store.metricNames(org, 's'),
    rows: (await raw()).rows,
    hours: (await buckets('1h')).rows.map(({ name, count }) => [name, count]),
    latest: await store.latest(org, 's', everything),
    fleets: await Promise.all(
      ['a', 'b'].map(async (metric) => {
        const { sources } = await store.fleet({ orgId: org, metric, window: everything, interval: '1h', limit: all });
        return sources.map(({ sourceId, rows }) => [sourceId, rows]);
      }),
    ),
  });
  describe('a deletion', () => {
    describe.each(moments)('%s', (_, wait) => {
      it.each<[string, string | null, object, object]>([
        [
          'of a source',
          null,
          { names: [], rows: [], hours: [], latest: [], fleets: [[['t', 1]], []] },
          { names: ['b'], rows: [['b', t + 1, 9]], hours: [['b', 1]], latest: [['b', 9]], fleets: [[['t', 1]], [['s', 1]]] },
        ],
        [
          'of a metric',
          'b',
          { names: ['a'], rows: [['a', t, 1]], hours: [['a', 1]], latest: [['a', 1]], fleets: [['s', 't'].map((id) => [id, 1]), []] },
          {
            names: ['a', 'b'],
            rows: [
              ['a', t, 1],
              ['b', t + 1, 9],
            ],
            hours: [
              ['a', 1],
              ['b', 1],
            ],
            latest: [
              ['a', 1],
              ['b', 9],
            ],
            fleets: [['s', 't'].map((id) => [id, 1]), [['s', 1]]],
          },
        ],
      ])('%s takes what came before it and nothing else, and what comes later is new', async (__, metric, left, later) => {
        const before = [aRun('a', [[t, 1]]), aRun('b', [[t, 2]]), aRun('b', [[t + 5, 3]], '[["core","1"]]')];
        await store.write([placed(before), placed([aRun('a', [[t, 4]])], 't')], forever);
        await wait();
        await known();
        await store.write([aDeletion(metric)], forever);
        await wait();
        await expect(known()).resolves.toEqual(left);
        await write(aRun('b', [[t + 1, 9]]));
        await wait();
        await expect(known()).resolves.toEqual(later);
      });
    });

    it.each([null, 'a'])('of what nobody has heard of changes nothing: %s', async (metric) => {
      await store.write([aDeletion(metric, 'u'), aDeletion('x'), placed([aRun('a', [[t, 1]])]), aDeletion('x')], forever);
      await store.checkpoint();
      await expect(raw()).resolves.toMatchObject({ rows: [['a', t, 1]] });
    });

    it('has its place among records that are written together', async () => {
      await store.write([placed([aRun('a', [[t, 1]])]), aDeletion(null), placed([aRun('a', [[t + 1, 2]])]), aDeletion('b')], forever);
      await expect(raw()).resolves.toMatchObject({ rows: [['a', t + 1, 2]] });
    });
  });

  describe('any history', () => {
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const histories = Number(process.env['HISTORIES'] ?? fewest);

    it(
      `gives what brute force gives (SEED=${seed}, ${histories} histories)`,
      async () => {
        for (let at = 0; at < histories; at++) {
          const random = new Random(seed + at);
          const history = aSeriesHistory(random, `${org}-${at}`, offset);
          offset += history.records.length;
          await live(history, random, subject.store, crash, visible);
        }
        expect(subject.store).toBeDefined();
      },
      histories * longestHistoryMs,
    );
  });
}

/** Writes a history in pieces, with crashes after each of which it goes on from the last checkpoint, and compares now and then. */
async function live(
  history: SeriesHistory,
  random: Random,
  first: SeriesStore,
  crash: () => Promise<SeriesStore>,
  visible: () => Promise<void>,
): Promise<void> {
  let store = first;
  let model = new SeriesModel();
  let committed = 0;
  let reached = 0;
  for (let next = 0; next < history.records.length;) {
    const some = history.records.slice(next, next + random.whole(1, 4));
    await store.write(some, forever);
    for (const { value } of some) model.write(value);
    next += some.length;
    reached = Math.max(reached, next);
    if (random.chance(0.2)) {
      await store.checkpoint();
      committed = next;
    }
    if (random.chance(0.05)) {
      store = await crash();
      next = committed;
      model = new SeriesModel();
      for (const { value } of history.records.slice(0, next)) model.write(value);
    }
    // Right after a crash it may still hold more than was checkpointed.
    if (next < reached || !random.chance(0.2)) continue;
    await visible();
    await compareSeries(history, random, store, model);
  }
  await visible();
  await compareSeries(history, random, store, model);
}

/** Asks a handful of questions of each kind about a history. */
export async function compareSeries(
  { orgId, sourceIds, metrics, times }: SeriesHistory,
  random: Random,
  store: SeriesStore,
  model: Omit<SeriesModel, 'write'>,
): Promise<void> {
  for (let question = 0; question < 8; question++) {
    const [startMs, endMs] = [random.pick(times), random.pick(times)].sort((a, b) => a - b) as [number, number];
    const window = random.chance(0.3) ? everything : { startMs: startMs - random.whole(0, 2), endMs: endMs + random.whole(1, 100_000) };
    const limit = random.pick([1, 2, 10, 100, all]);
    const interval = random.pick(rollupIntervals);
    const sourceId = random.pick(sourceIds);
    const query = { orgId, sourceId, metrics: random.pick([undefined, metrics.slice(1), [random.pick(metrics)]]), window, limit };
    expect(rawRows(await store.raw(query))).toEqual(model.raw(query));
    expectSame(bucketRows(await store.buckets({ ...query, interval })), model.buckets({ ...query, interval }));
    await expect(store.latest(orgId, sourceId, window)).resolves.toEqual(model.latest(orgId, sourceId, window));
    await expect(store.metricNames(orgId, sourceId)).resolves.toEqual(model.metricNames(orgId, sourceId));
    const fleet = { orgId, metric: random.pick(metrics), window, interval, limit };
    const answer = await store.fleet(fleet);
    const expected = model.fleet(fleet);
    expect(answer.sources.map((source) => source.sourceId)).toEqual(expected.sources);
    expectSame(bucketRows({ series: bySource(answer), truncated: answer.truncated }), expected);
  }
}

function rawRows({ series, truncated }: Awaited<ReturnType<SeriesStore['raw']>>): Kept<RawRow> {
  const rows = series.flatMap(({ metric, timestampMs, value }) => [...timestampMs].map((time, at): RawRow => [metric, time, value[at]!]));
  return { rows: inOrder(rows, ([, timestampMs]) => timestampMs), truncated };
}

function taggedRows({ series, tags, truncated }: Awaited<ReturnType<SeriesStore['raw']>>): Kept<TaggedRow> {
  const rows = series.flatMap(({ metric, timestampMs, value }, of) =>
    Array.from(timestampMs, (time, at): TaggedRow => [metric, time, value[at]!, tags![of]![at]!]),
  );
  return { rows: inOrder(rows, ([, timestampMs]) => timestampMs), truncated };
}

function bucketRows({
  series,
  truncated,
}: {
  series: readonly (BucketColumns & { metric: string })[];
  truncated: boolean;
}): Kept<BucketRow> {
  const rows = series.flatMap(({ metric: name, timestampMs, min, max, avg, count }) =>
    [...timestampMs].map((time, at) => ({ name, timestampMs: time, min: min[at]!, max: max[at]!, avg: avg[at]!, count: count[at]! })),
  );
  return { rows: inOrder(rows, ({ timestampMs }) => timestampMs), truncated };
}

/** The rows of each source of a fleet. */
function bySource({ sources, columns }: FleetAnswer): BucketAnswer['series'] {
  expect(sources.reduce((sum, { rows }) => sum + rows, 0)).toBe(columns.count.length);
  let from = 0;
  return sources.map(({ sourceId, rows }) => {
    const [begin, end] = [from, (from += rows)];
    const of = (column: Float64Array): Float64Array => column.subarray(begin, end);
    const { timestampMs, min, max, avg, count } = columns;
    return { metric: sourceId, timestampMs: of(timestampMs), min: of(min), max: of(max), avg: of(avg), count: of(count) };
  });
}

/** Stable, so that rows of one time stay in the order of the answer's series. */
const inOrder = <Row>(rows: readonly Row[], timeOf: (row: Row) => number): Row[] => rows.toSorted((a, b) => timeOf(a) - timeOf(b));

function expectSame(answer: Kept<BucketRow>, model: Kept<BucketRow>): void {
  const withoutAvg = (rows: readonly BucketRow[]): object[] => rows.map((row) => ({ ...row, avg: undefined }));
  expect({ rows: withoutAvg(answer.rows), truncated: answer.truncated }).toEqual({
    rows: withoutAvg(model.rows),
    truncated: model.truncated,
  });
  for (const [at, row] of answer.rows.entries()) expectClose(row, model.rows[at]!);
}

/** Sums of doubles do not associate. */
function expectClose({ avg }: BucketRow, expected: BucketRow): void {
  const tolerance = 1e-9 * Math.max(Math.abs(expected.min), Math.abs(expected.max));
  expect(Math.abs(avg - expected.avg) > tolerance ? avg : expected.avg).toBe(expected.avg);
}
