import { checkMetric } from '#model';
import { BadFile, flagged, usage } from './failure.js';
import type { CsvRow } from './csv.js';

/** Where the points of a row are. */
export interface Columns {
  /** Cells that every row has. */
  readonly width: number;
  readonly time: number;
  readonly values: readonly { readonly at: number; readonly metric: string }[];
}

export interface ColumnWishes {
  /** Header of the time column; undefined means the first column. */
  readonly time: string | undefined;
  /** Columns to take by their header; or else a name for each value column, in order. */
  readonly metrics: readonly string[];
}

/** Whether the first row names columns: data begins with a time, so with a digit or a sign. */
export const isHeader = (row: CsvRow, wishes: ColumnWishes): boolean => wishes.time !== undefined || !/^\s*[-+\d]/.test(row.cells[0]!);

/** @throws Failure when the wishes do not fit the first row. */
export function readColumns(first: CsvRow, wishes: ColumnWishes): Columns {
  const width = first.cells.length;
  if (width < 2) throw new BadFile(`Line ${first.line} has one column: a row is a time and at least one value, with commas between.`);
  const columns = isHeader(first, wishes) ? byHeader(first.cells, wishes) : byPosition(width, wishes.metrics);
  const names = columns.values.map(({ metric }) => flagged('The header of a column, or --metric,', metric, checkMetric));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw usage(`Two columns would be the metric "${twice}": give each value column its own name with --metric.`);
  return { width, ...columns };
}

function byHeader(header: readonly string[], { time: timeName, metrics }: ColumnWishes): Omit<Columns, 'width'> {
  const time = timeName === undefined ? 0 : header.indexOf(timeName);
  if (time < 0) throw usage(`There is no column "${timeName}" for --time: the header has ${quoted(header)}.`);
  const all = header.map((metric, at) => ({ at, metric })).filter(({ at }) => at !== time);
  if (metrics.length === 0) return { time, values: all };
  if (metrics.every((name) => all.some(({ metric }) => metric === name)))
    return { time, values: all.filter(({ metric }) => metrics.includes(metric)) };
  if (metrics.length === all.length) return { time, values: all.map(({ at }, index) => ({ at, metric: metrics[index]! })) };
  throw usage(
    `--metric must name columns (the header has ${quoted(header)}) or be given once for each of the ${all.length} value columns.`,
  );
}

function byPosition(width: number, metrics: readonly string[]): Omit<Columns, 'width'> {
  if (metrics.length !== width - 1) throw usage(`The file has no header: give --metric once for each value column, ${width - 1} in all.`);
  return { time: 0, values: metrics.map((metric, index) => ({ at: index + 1, metric })) };
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
