import { noTags, tagsKey, type PointBatch, type SeriesRun, type Tags } from '#model';
import type { Placed } from '#stores';
import type { Random } from './random.js';

/** Records of one organization in log order, and what they are made of. */
export interface SeriesHistory {
  readonly orgId: string;
  readonly sourceIds: readonly string[];
  readonly metrics: readonly string[];
  /** Some of the times that occur. */
  readonly times: readonly number[];
  readonly records: readonly Placed<PointBatch>[];
}

const dayMs = 86_400_000;
const noonMs = 1_700_006_400_000;

/** How times go: regular, with jitter, in few places over and over, far apart, in 1970 and far ahead, against the clock. */
const clocks: readonly ((random: Random, at: number) => number)[] = [
  (_, at) => noonMs + at * 1000,
  (random, at) => noonMs + at * 10_000 + random.whole(-3000, 3000),
  (random) => noonMs + 60_000 * random.whole(0, 3) + random.whole(0, 3),
  (random) => noonMs + dayMs * random.whole(-120, 120) + random.whole(0, dayMs),
  (random) => random.pick([1, 59_999, 60_000, dayMs, 4_102_444_800_000, 253_402_300_799_999, noonMs]),
  (random, at) => noonMs - at * 700 + random.whole(0, 5),
];

/** How values go. */
const gauges: readonly ((random: Random, at: number) => number)[] = [
  (random) => random.whole(-500, 500) / 10,
  (random) => random.whole(-10_000, 10_000) / 10_000,
  (random) => random.fraction() - 0.5,
  (_, at) => at,
  (random) => random.pick([0, -0, Number.MAX_VALUE, -Number.MAX_VALUE, 1e300, 5e-324, -1e-310, 2 ** 53, 1]),
  () => 42,
];

/** The last two are equal: the order of keys means nothing. */
const tagSets: readonly Tags[] = [
  noTags,
  noTags,
  tagsKey({ core: '0' }),
  tagsKey({ core: '1' }),
  tagsKey({ core: '\uFFFD' }),
  tagsKey({ core: '\u{1F600}' }),
  tagsKey({ b: '2', a: '1' }),
];

/** A random history whose records stand at `firstOffset` and after it; some of them delete a source, or a metric of it. */
export function aSeriesHistory(random: Random, orgId: string, firstOffset: number): SeriesHistory {
  const sourceIds = ['s1', 'S2', 's.3', 's10'].slice(0, random.whole(1, 4));
  const metrics = ['motor.rpm', 'a', '\u{1F600}', '\uFFFD', 'motor.rpm2'].slice(0, random.whole(1, 5));
  const clock = new Map(sourceIds.map((id) => [id, random.pick(clocks)]));
  const gauge = new Map(metrics.map((metric) => [metric, random.pick(gauges)]));
  const times: number[] = [];
  let at = 0;
  const aRun = (sourceId: string): SeriesRun => {
    const metric = random.pick(metrics);
    const length = random.chance(0.1) ? random.whole(0, 300) : random.whole(1, 20);
    const begin = random.chance(0.1) ? random.whole(0, at) : at;
    const timestampMs = Float64Array.from({ length }, (_, point) => clock.get(sourceId)!(random, begin + point));
    const value = Float64Array.from({ length }, (_, point) => gauge.get(metric)!(random, begin + point));
    if (length > 0) times.push(timestampMs[0]!);
    return { metric, tags: random.pick(tagSets), timestampMs, value };
  };
  const batches = Array.from({ length: random.whole(1, 40) }, (): PointBatch => {
    const sourceId = random.pick(sourceIds);
    if (random.chance(0.1))
      return { orgId, sourceId, receivedMs: noonMs, series: [], deleted: { metric: random.pick([null, ...metrics]) } };
    const series = Array.from({ length: random.whole(1, 4) }, () => aRun(sourceId));
    at += random.whole(0, 40);
    return { orgId, sourceId, receivedMs: noonMs, series };
  });
  const resent = batches.flatMap((batch) => (random.chance(0.1) ? [batch, batch] : [batch]));
  const records = resent.map((value, index) => ({ partition: random.whole(0, 3), offset: firstOffset + index, value }));
  return { orgId, sourceIds, metrics, times: times.length > 0 ? times : [noonMs], records };
}
