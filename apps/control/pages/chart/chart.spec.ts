import { describe, expect, it } from '@jest/globals';
import { chart, maxSpans, type Span } from './chart.js';
import { columnsOf, fewer, runsOf } from './columns.js';
import { placeOn, scaleOf, valueText } from './scale.js';
import { timeTicks } from './time-ticks.js';

const minute = 60_000;
const startMs = Date.UTC(2026, 10, 23, 12);
const max = Number.MAX_VALUE;

type Cell = number | readonly [min: number, avg: number, max: number, count?: number] | null;

/** Buckets of a minute from `startMs` on; null is a bucket without points. */
function buckets(cells: readonly Cell[]) {
  const rows = cells.flatMap((cell, at) => {
    if (cell === null) return [];
    const [low, avg, high, count = 1] = typeof cell === 'number' ? [cell, cell, cell] : cell;
    return [[startMs + at * minute, low, high, avg, count]];
  });
  const column = (nth: number): Float64Array => Float64Array.from(rows, (row) => row[nth]!);
  return { timestampMs: column(0), min: column(1), max: column(2), avg: column(3), count: column(4) };
}

const windowOf = (count: number) => ({ startMs, endMs: startMs + count * minute });
const drawn = (cells: readonly Cell[], spans: readonly Span[] = []): string =>
  String(chart({ id: 'c', metric: 'm', window: windowOf(cells.length), sizeMs: minute, buckets: buckets(cells), spans }));
/** Where the path of a class begins each of its pieces. */
const pieces = (text: string, kind: string): number => text.match(new RegExp(`class="${kind}" d="([^"]*)"`))?.[1]!.match(/M/g)!.length ?? 0;
const often = (count: number, cell: Cell): Cell[] => Array.from({ length: count }, () => cell);

describe('a chart', () => {
  it.each<[string, readonly Cell[], { line?: number; dots?: number; band?: number }]>([
    ['one point', [null, 5, null], { dots: 1, band: 1 }],
    ['one bucket in a window of one', [5], { dots: 1, band: 1 }],
    ['a constant', often(10, 21.5), { line: 1, band: 1 }],
    ['zero', often(3, 0), { line: 1, band: 1 }],
    ['negative values', [-5, -7, -6], { line: 1, band: 1 }],
    ['huge values', [[-max, 0, max], max, -max], { line: 1, band: 1 }],
    ['the smallest values', [5e-324, 0, 5e-324], { line: 1, band: 1 }],
    ['values whose difference is beyond their digits', [1e15, 1e15 + 0.125], { line: 1, band: 1 }],
    ['a gap', [1, 1, 1, null, 1, 1, 1].flatMap((cell) => often(5, cell && [cell, cell, cell, 60])), { line: 2, band: 2 }],
    ['gaps at the ends', [null, null, 1, 2, null], { line: 1, band: 1 }],
    ['a point between gaps', [1, 2, ...often(9, null), 3, ...often(9, null), 4, 5], { line: 2, dots: 1, band: 3 }],
    ['points that are always five minutes apart', often(60, null).map((_, at) => (at % 5 === 0 ? at : null)), { line: 1, band: 1 }],
    ['more buckets than columns', often(5000, 7), { line: 1, band: 1 }],
  ])('of %s has a line where there are points, and no number that is none', (_, cells, { line = 0, dots = 0, band = 0 }) => {
    const text = drawn(cells);
    expect(text).not.toMatch(/NaN|Infinity|undefined|null/);
    expect([pieces(text, 'line'), pieces(text, 'dots'), pieces(text, 'band')]).toEqual([line, dots, band]);
    for (const [, path] of text.matchAll(/ d="([^"]*)"/g)) {
      const numbers = path!.match(/-?[\d.]+/g)!.map(Number);
      expect(numbers.every((number) => number >= 0 && number <= 1000)).toBe(true);
    }
    expect(text.length).toBeLessThan(30_000);
  });

  it('without points says so', () => {
    const text = drawn(often(60, null));
    expect(text).toContain('No points in this window.');
    expect(text).not.toContain('<svg');
  });

  it('says in words and in a table what it shows, to those who do not see it', () => {
    const text = drawn([[1, 2, 3, 10], null, null, null, [4, 5, 6, 30]]);
    expect(text).toContain(
      'From 23 Nov 2026, 12:00 to 23 Nov 2026, 12:05 UTC: values from 1 to 6, 1 minute to a step, on average 5 in the last one. 1 gap.',
    );
    const rows = Array.from(text.split('<tbody')[1]!.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g), ([, row]) =>
      row!
        .replaceAll(/<[^>]+>/g, ' ')
        .trim()
        .split(/\s{2,}/),
    );
    expect(rows).toEqual([
      ['23 Nov 2026, 12:00', '2', '1', '3', '10'],
      ['23 Nov 2026, 12:01', 'no points', '0'],
      ['23 Nov 2026, 12:02', 'no points', '0'],
      ['23 Nov 2026, 12:03', 'no points', '0'],
      ['23 Nov 2026, 12:04', '5', '4', '6', '30'],
    ]);
    expect(text).toMatch(/role="img" aria-labelledby="c-title c-desc"/);
  });

  it('marks the times of alerts that touch the window, the newest of them', () => {
    const span = (from: number, to: number | null): Span => ({
      startMs: startMs + from * minute,
      endMs: to === null ? null : startMs + to * minute,
      severity: 'critical',
      text: `since <${from}>`,
    });
    const text = drawn(often(10, 1), [span(-9, -1), span(-2, 1), span(5, 5), span(8, null), span(10, null)]);
    const rects = Array.from(text.matchAll(/class="span critical"\s+x="([\d.]+)"\s+width="([\d.]+)"/g), ([, x, w]) => [
      Number(x),
      Number(w),
    ]);
    expect(rects).toEqual([
      [0, 100],
      [500, 2],
      [800, 200],
    ]);
    expect(text).toContain('<title>since &lt;-2&gt;</title>');
    expect(text).toContain('3 alerts.');
    const many = drawn(
      often(10, 1),
      Array.from({ length: 5000 }, () => span(1, 2)),
    );
    expect(many.match(/class="span critical"/g)).toHaveLength(maxSpans);
  });

  it('escapes the name of its metric', () => {
    const hostile = `"><script>`;
    const text = String(chart({ id: 'c', metric: hostile, window: windowOf(1), sizeMs: minute, buckets: buckets([1]), spans: [] }));
    expect(text).not.toContain('<script>');
  });
});

describe('columns', () => {
  it('hold what their buckets held', () => {
    const cells: Cell[] = [[1, 2, 3, 1], [0, 8, 9, 3], null, null, [5, 6, 7, 2]];
    const { sizeMs, all } = columnsOf(buckets(cells), windowOf(5), minute, 3);
    expect(sizeMs).toBe(2 * minute);
    expect(all).toEqual([{ min: 0, max: 9, avg: 6.5, count: 4 }, null, { min: 5, max: 7, avg: 6, count: 2 }]);
  });

  it('begin with the bucket in which the window begins, and leave out what is outside', () => {
    const window = { startMs: startMs + 1.5 * minute, endMs: startMs + 3 * minute };
    const { startMs: from, all } = columnsOf(buckets([1, 2, 3, 4]), window, minute, 10);
    expect([from, all.map((column) => column?.avg)]).toEqual([startMs + minute, [2, 3]]);
  });

  it('of huge values have an average', () => {
    const two = [max, max].map((value) => ({ min: value, max: value, avg: value, count: 1 }));
    expect(fewer({ startMs, sizeMs: minute, all: two }, 1).all).toEqual([{ min: max, max, avg: max, count: 2 }]);
  });

  it.each<[string, readonly Cell[], number[][]]>([
    ['nothing', [null, null], []],
    ['a hole between points that come often', [[1, 1, 1, 60], null, [1, 1, 1, 60]], [[0], [2]]],
    ['a hole between points that come once a bucket', [1, 1, null, 1, 1], [[0, 1, 3, 4]]],
    [
      'two holes between those',
      [1, 1, null, null, 1, 1],
      [
        [0, 1],
        [4, 5],
      ],
    ],
  ])('are apart after a gap: %s', (_, cells, runs) => {
    expect(runsOf(columnsOf(buckets(cells), windowOf(cells.length), minute, 100).all)).toEqual(runs);
  });
});

describe('ticks', () => {
  it.each<[number, number, string[]]>([
    [0, 4, ['0', '1', '2', '3', '4']],
    [20.1, 22.4, ['20', '21', '22', '23']],
    [-0.05, 0.05, ['−0.050', '−0.025', '0.000', '0.025', '0.050']],
    [21.5, 21.5, ['18', '20', '22', '24']],
    [0, 0, ['−1.0', '−0.5', '0.0', '0.5', '1.0']],
    [-3, -1, ['−3.0', '−2.5', '−2.0', '−1.5', '−1.0']],
    [0, 48_000, ['0k', '20k', '40k', '60k']],
    [1e9, 1.004e9, ['1.000G', '1.001G', '1.002G', '1.003G', '1.004G']],
    [0, 4e18, ['0', '1e18', '2e18', '3e18', '4e18']],
    [0, 4e-7, ['0', '1e−7', '2e−7', '3e−7', '4e−7']],
    [-max, max, ['−1.8e308', '−1e308', '0', '1e308', '1.8e308']],
  ])('from %d to %d are round', (low, high, labels) => {
    const scale = scaleOf(low, high);
    expect(scale.ticks.map(({ label }) => label)).toEqual(labels);
    expect(scale.low <= low && scale.high >= high).toBe(true);
    expect([placeOn(scale, scale.low), placeOn(scale, scale.high)]).toEqual([0, 1]);
  });

  it('never are many, whatever the values', () => {
    for (let seed = 1; seed < 3000; seed++) {
      const low = Math.sin(seed) * 10 ** ((seed % 600) - 300);
      const high = low + Math.abs(Math.cos(seed) * 10 ** (((seed * 7) % 600) - 300));
      const { ticks } = scaleOf(low, high);
      expect(ticks.length >= 2 && ticks.length <= 9 && ticks.every(({ value }) => Number.isFinite(value))).toBe(true);
    }
  });

  it.each<[number, string[]]>([
    [60, ['12:00', '12:10', '12:20', '12:30', '12:40', '12:50']],
    [6 * 60, ['12:00', '13:00', '14:00', '15:00', '16:00', '17:00']],
    [24 * 60, ['12:00', '16:00', '20:00', '24 Nov', '04:00', '08:00']],
    [7 * 24 * 60, ['24 Nov', '25 Nov', '26 Nov', '27 Nov', '28 Nov', '29 Nov', '30 Nov']],
    [30 * 24 * 60, ['28 Nov', '3 Dec', '8 Dec', '13 Dec', '18 Dec', '23 Dec']],
    [365 * 24 * 60, ['3 Dec', '3 Mar', '1 Jun', '30 Aug']],
  ])('of a window of %d minutes are round times', (minutes, labels) => {
    expect(timeTicks(windowOf(minutes)).map(({ label }) => label)).toEqual(labels);
  });
});

describe('a value in words', () => {
  it.each([
    [0, '0'],
    [21.456_789, '21.4568'],
    [-1234.5, '−1\u202F234.5'],
    [1_234_567, '1\u202F234\u202F567'],
    [1.5e300, '1.5e300'],
    [-2e-9, '−2e−9'],
  ])('%d is %s', (value, text) => {
    expect(valueText(value)).toBe(text);
  });
});
