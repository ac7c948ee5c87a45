import { describe, expect, it } from '@jest/globals';
import { Random } from '#testing';
import { levels, partitionMs, type Partitioning } from './tables.js';
import { type Question, questionsFor } from './questions.js';
import type { Series } from './series-names.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** What QuestDB takes as the length of a span in seconds. */
const longestS = 2 ** 31 - 1;
/** Half of the maps that a process may have, at eight for each partition. */
const maxPartitions = 4096;

const aSeries = (source: string): Series => ({ org: 'o', source, metric: 'm' }) as Series;
const starts = (count: number, startMs: (at: number) => number): Set<number> =>
  new Set(Array.from({ length: count }, (_, at) => startMs(at)));

const largest = (numbers: readonly number[]): number => numbers.reduce((most, number) => Math.max(most, number), 0);

function partitionsOf({ spans }: Question, sizeMs: number): number {
  const partitions = new Set<number>();
  for (const { fromMs, toMs } of spans) {
    for (let at = Math.floor(fromMs / sizeMs); at * sizeMs < toMs; at++) partitions.add(at);
  }
  return partitions.size;
}

/** Windows by what is unusual about them. */
const histories: readonly (readonly [string, (sizeMs: number) => Set<number>])[] = [
  ['one after the other for long', (sizeMs) => starts(20_000, (at) => at * sizeMs)],
  ['hourly over 23 years', (sizeMs) => starts(23 * 365 * 24, (at) => Math.floor((at * hourMs) / sizeMs) * sizeMs)],
  ['the first and the last of each 32 days', () => starts(1580, (at) => (at % 2 === 0 ? 16 * at : 16 * (at - 1) + 31) * dayMs)],
  [
    'the first and the last of each day',
    (sizeMs) => starts(10_000, (at) => (at % 2 === 0 ? (at / 2) * dayMs : ((at + 1) / 2) * dayMs - sizeMs)),
  ],
];

describe('Questions for stale windows', () => {
  const cases = levels.flatMap((level) =>
    (['HOUR', 'DAY', 'WEEK', 'MONTH'] as Partitioning[]).flatMap((by) =>
      [level.from, 'points' as const].flatMap((from) => histories.map(([name, its]) => ({ level, by, from, name, its }))),
    ),
  );
  it.each(cases)('of $level.interval from $from by $by, $name, have an end', ({ level, by, from, its }) => {
    const partition = partitionMs(by)[from];
    const questions = questionsFor([[aSeries('s'), its(level.sizeMs)]], { ...level, partitionMs: partition });
    const spans = questions.flatMap((question) => question.spans);
    expect(largest(spans.map(({ fromMs, toMs }) => (toMs - fromMs) / 1000))).toBeLessThanOrEqual(longestS);
    expect(largest(questions.map((question) => partitionsOf(question, partition)))).toBeLessThanOrEqual(maxPartitions);
  });

  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  it(`cover every window of every source, no part of a source twice (SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 30; round++) {
      const sizes = { ...random.pick(levels), partitionMs: random.pick([hourMs, dayMs, 28 * dayMs]) };
      const days = random.pick([2, 100, 10_000]);
      const [series, most] = random.pick([
        [10, 100],
        [500, 3],
      ] as const);
      const windows = Array.from({ length: random.whole(1, series) }, (_, at) => {
        const its = starts(random.whole(1, most), () => Math.floor((random.whole(0, days * 24) * hourMs) / sizes.sizeMs) * sizes.sizeMs);
        return [aSeries(`s${at % 250}`), its] as const;
      });
      const questions = questionsFor(windows, sizes);
      const asked = Map.groupBy(
        questions.flatMap(({ sources, spans }) => sources.flatMap((source) => spans.map((span) => ({ source, ...span })))),
        ({ source }) => source,
      );
      for (const [{ source }, its] of windows) {
        for (const startMs of its) {
          const covering = asked.get(source)!.filter(({ fromMs, toMs }) => fromMs <= startMs && startMs + sizes.sizeMs <= toMs);
          expect(covering).toHaveLength(1);
        }
      }
    }
  });
});
