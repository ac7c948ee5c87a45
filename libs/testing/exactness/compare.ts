import { inOrder, type AnswerRow } from './fold.js';

/** A series of an answer: parallel arrays, raw ones with `value`, aggregated ones with the other four. */
export type Columns = Readonly<Partial<Record<'timestamp_ms' | 'value' | 'min' | 'max' | 'avg' | 'count', readonly number[]>>>;

const columnsOf = { raw: ['value'], bucket: ['min', 'max', 'avg', 'count'] } as const;

/** The rows of an answer, ordered by (time, name). @throws Error when its arrays are not parallel. */
export function rowsIn(series: Readonly<Record<string, Columns>>, kind: 'raw' | 'bucket'): AnswerRow[] {
  const rows = Object.entries(series).flatMap(([name, columns]) => {
    const keys = ['timestamp_ms', ...columnsOf[kind]] as const;
    const lengths = keys.map((key) => columns[key]?.length);
    if (new Set(lengths).size !== 1 || lengths[0] === undefined || Object.keys(columns).length !== keys.length)
      throw new Error(
        `${name} has columns ${Object.keys(columns).join(', ')} of lengths ${lengths.join(', ')}, expected ${keys.join(', ')}`,
      );
    return columns.timestamp_ms!.map((timestampMs, at): AnswerRow => {
      const cells = Object.fromEntries(columnsOf[kind].map((key) => [key, columns[key]![at]]));
      return { name, timestampMs, ...cells };
    });
  });
  return inOrder(rows);
}

/** What first differs, in words; undefined when the rows are those expected: all equal, `avg` within 1e-9 × max(|min|, |max|). */
export function difference(actual: readonly AnswerRow[], expected: readonly AnswerRow[]): string | undefined {
  const at = expected.findIndex((row, index) => !sameRow(actual[index], row));
  if (at >= 0) return `row ${at} of ${expected.length} is ${show(actual[at])}, expected ${show(expected[at])}`;
  return actual.length > expected.length
    ? `${actual.length} rows, expected ${expected.length}: ${show(actual[expected.length])} is too much`
    : undefined;
}

function sameRow(actual: AnswerRow | undefined, expected: AnswerRow): boolean {
  if (!actual || actual.name !== expected.name || actual.timestampMs !== expected.timestampMs) return false;
  if (expected.value !== undefined) return actual.value === expected.value;
  const slack = 1e-9 * Math.max(Math.abs(expected.min!), Math.abs(expected.max!));
  const sameCounts = actual.count === expected.count && actual.min === expected.min && actual.max === expected.max;
  return sameCounts && Math.abs(actual.avg! - expected.avg!) <= slack;
}

const show = (row: AnswerRow | undefined): string => (row ? JSON.stringify(row) : 'missing');
