import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { bucketStartMs, compareUtf8, intervalMs, RollupRows } from '#model';
import { Random } from '#testing';
import { Points } from './points.js';
import { blockInsert, blockSearch, insertRun, levels, type Level, runsReader } from './run.js';
import { RunReader } from './run-reader.js';
import { RunWriter } from './run-writer.js';
import { createSeriesTables } from './writer.js';
import { inOrder, TagSets } from './tag-sets.js';

type Point = readonly [timeMs: number, value: number, tags: string];

const noonMs = 1_700_006_400_000;
/** In the order of their UTF-8; too many for one entry, and some too long. */
const someTags = ['', ...Array.from({ length: 60 }, (_, at) => `${at}`.padStart(at % 20 === 0 ? 20_000 : 5, '0'))].toSorted(compareUtf8);
const metricOf = (series: number): number => 1 + (series % 3);

/** Points of one series by time: dense, with jitter, in every minute, with long gaps, or few; some with many tag sets at one time. */
function someSeries(random: Random): Point[] {
  const stepMs = random.pick([1, 1000, 7001, 60_000, 3_600_000, 86_400_000 * 30]);
  const jitterMs = random.chance(0.5) ? 0 : stepMs >> 1;
  const count = random.pick([1, 2, 7, 300, 4500]);
  const decimals = 10 ** random.whole(0, 3);
  let timeMs = noonMs + random.whole(-100_000_000, 100_000_000);
  const tagged = random.pick(count > 1000 ? [0, 0.01] : [0, 0.01, 0.5]);
  return Array.from({ length: count }, () => {
    timeMs += stepMs + random.whole(0, jitterMs);
    const tags = random.chance(tagged) ? someTags.slice(0, random.whole(1, random.pick([3, 10, someTags.length]))) : [''];
    return tags.map((text): Point => [timeMs, random.whole(-5000, 5000) / decimals, text]);
  }).flat();
}

function columns(some: readonly Point[]): Points {
  const points = new Points(some.length);
  const sets = new TagSets();
  for (const [, , tags] of some) sets.number(tags);
  const { tagSets, places } = inOrder(sets.texts);
  points.tagSets = tagSets;
  for (const [timeMs, value, tags] of some) {
    points.timeMs[points.length] = timeMs;
    points.value[points.length] = value;
    points.tag[points.length++] = places[sets.number(tags)]!;
  }
  return points;
}

/** Writes all series as one run, each in pieces, and opens it. */
function written(all: ReadonlyMap<number, readonly Point[]>, random: Random, segmentRows: number): RunReader {
  const db = new DatabaseSync(':memory:');
  createSeriesTables(db);
  const writer = new RunWriter(7, metricOf, blockInsert(db), segmentRows);
  for (const [series, some] of all) {
    const points = columns(some);
    for (let at = 0; at < points.length;) {
      const end = Math.min(points.length, at + random.whole(1, 3000));
      writer.add(series, points, at, end);
      at = end;
    }
  }
  insertRun(db, { ...writer.finish(), level: 0, firstArena: 1, lastArena: 1, offsets: {} });
  return new RunReader(blockSearch(db), runsReader(db)()[0]!);
}

function read(run: RunReader, series: number, fromMs: number, toMs: number): Point[] {
  const found: Point[] = [];
  const stream = run.points(series, fromMs, toMs);
  while (stream.next()) {
    const { timeMs, value, tag, tagSets } = stream.points;
    for (let at = stream.at; at < stream.end; at++) found.push([timeMs[at]!, value[at]!, tagSets[tag[at]!]!]);
  }
  return found;
}

const rowList = (rows: RollupRows): number[][] =>
  Array.from({ length: rows.length }, (_, at) => [
    rows.startMs[at]!,
    rows.count[at]!,
    rows.firstMs[at]!,
    rows.lastMs[at]!,
    rows.min[at]!,
    rows.max[at]!,
    Number(rows.sum[at]!.toPrecision(12)),
  ]);

function readRows(run: RunReader, series: number, level: Level, fromMs: number, toMs: number, fleet: boolean): number[][] {
  const rows = new RollupRows();
  run.rows(metricOf(series), series, level, fromMs, toMs, fleet, rows);
  return rowList(rows);
}

function folded(some: readonly Point[], level: Level, fromMs: number, toMs: number): number[][] {
  const rows = new RollupRows();
  const points = columns(some.filter(([timeMs]) => timeMs >= fromMs && timeMs < toMs));
  rows.fold(intervalMs[level], points.timeMs, points.value, 0, points.length);
  return rowList(rows);
}

describe('a run', () => {
  const cases = Array.from({ length: 15 }, (_, seed) => [seed, [20, 700, 64 * 1024][seed % 3]!] as const);

  it.each(cases)('gives back what was written, seed %i, %i rows a segment', (seed, segmentRows) => {
    const random = new Random(seed);
    const all = new Map(Array.from({ length: random.whole(1, 30) }, (_, at) => [2 * at + 1, someSeries(random)] as const));
    const run = written(all, random, segmentRows);
    expect(run.run.points).toBe([...all.values()].reduce((sum, some) => sum + some.length, 0));
    for (let question = 0; question < 20; question++) {
      const series = random.whole(0, 2 * all.size + 1);
      const some = all.get(series) ?? [];
      const near = random.pick(some.length > 0 ? some : [[noonMs, 0, ''] as const])[0];
      const [fromMs, toMs] = random.chance(0.2) ? [0, 1e15] : [near - random.whole(0, 10_000_000), near + random.whole(1, 10_000_000)];
      expect(read(run, series, fromMs, toMs)).toEqual(some.filter(([timeMs]) => timeMs >= fromMs && timeMs < toMs));
      for (const level of levels) {
        const startMs = bucketStartMs(fromMs, intervalMs[level]);
        const endMs = bucketStartMs(toMs, intervalMs[level]);
        expect(readRows(run, series, level, startMs, endMs, random.chance(0.5))).toEqual(folded(some, level, startMs, endMs));
      }
    }
  });
});
