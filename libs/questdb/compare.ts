import { comparePlaces, placeOf, type DumpedRow } from './dump.js';
import type { Tables } from './tables.js';

/** What two generations say at one place. */
export interface Compared {
  readonly table: keyof Tables;
  readonly timestampMs: number;
  /** Undefined where they say the same. */
  readonly difference: Difference | undefined;
}

/** Something that the store says and should not, or the other way round. */
export interface Difference {
  readonly what: (typeof words)[keyof Tables]['what'];
  readonly orgId: string;
  readonly sourceId: string;
  readonly metric: string;
  /** Event time, or the start of a bucket; a name of a metric has none. */
  readonly timestampMs?: number;
  /** In words. */
  readonly expected: string;
  /** In words. */
  readonly found: string;
  /** What it is about, as text that nothing else has. */
  readonly place: string;
}

type Cells = readonly unknown[];

const avgTolerance = 1e-9;
const valueCharacters = 80;
/** Where an event's receive time stands behind its key. */
const arrivalCell = 3;

/** What people call a row of a table, and what they call its cells behind the key. */
const words = {
  points: { what: 'raw', of: ([tags, value]: Cells) => `value ${value as number}${tagged(tags)}` },
  rollup1m: { what: '1m', of: bucketWords },
  rollup1h: { what: '1h', of: bucketWords },
  rollup1d: { what: '1d', of: bucketWords },
  metrics: { what: 'metric names', of: () => 'the name' },
  events: {
    what: 'events',
    of: ([, value, tags, received, place]: Cells) =>
      `${shortened(value as string)}${tagged(tags)}${receivedAt(received)}, place ${place as number}`,
  },
} as const;

/** Visits every place of two dumps, in their order; holds a row of each. */
export async function* compare(expected: AsyncGenerator<DumpedRow>, found: AsyncGenerator<DumpedRow>): AsyncGenerator<Compared> {
  try {
    let [a, b] = await Promise.all([expected.next(), found.next()]);
    while (!a.done || !b.done) {
      const order = a.done ? 1 : b.done ? -1 : comparePlaces(a.value, b.value);
      yield compared(order <= 0 ? a.value : undefined, order >= 0 ? b.value : undefined);
      [a, b] = await Promise.all([order <= 0 ? expected.next() : a, order >= 0 ? found.next() : b]);
    }
  } finally {
    await Promise.all([expected.return(undefined), found.return(undefined)]);
  }
}

function compared(expected: DumpedRow | undefined, found: DumpedRow | undefined): Compared {
  const any = (expected ?? found)!;
  const { table, row } = any;
  const difference =
    expected && found && same(table, expected.row.slice(4), found.row.slice(4)) ? undefined : differenceOf(any, expected, found);
  return { table, timestampMs: row[0], difference };
}

/** All cells equal; an event may be without its receive time in tables of an earlier version, and then its place says nothing; of a bucket count, min and max, and avg as near as sums of doubles come. */
function same(table: keyof Tables, a: Cells, b: Cells): boolean {
  if (table === 'events' && (a[arrivalCell] === null || b[arrivalCell] === null))
    return a.slice(0, arrivalCell).every((cell, at) => cell === b[at]);
  if (!table.startsWith('rollup')) return a.every((cell, at) => cell === b[at]);
  const [min, max, sum, count] = a as number[];
  const [otherMin, otherMax, otherSum, otherCount] = b as number[];
  const slack = avgTolerance * Math.max(Math.abs(min!), Math.abs(max!));
  return min === otherMin && max === otherMax && count === otherCount && Math.abs(sum! / count! - otherSum! / otherCount!) <= slack;
}

function differenceOf(any: DumpedRow, expected: DumpedRow | undefined, found: DumpedRow | undefined): Difference {
  const [timestampMs, orgId, sourceId, metric] = any.row;
  return {
    what: words[any.table].what,
    orgId: orgId ?? '',
    sourceId: sourceId ?? '',
    metric: metric ?? '',
    ...(any.table !== 'metrics' && { timestampMs }),
    expected: inWords(expected),
    found: inWords(found),
    place: JSON.stringify(placeOf(any)),
  };
}

const inWords = (dumped: DumpedRow | undefined): string => (dumped ? words[dumped.table].of(dumped.row.slice(4)) : 'nothing');

function bucketWords([min, max, sum, count]: Cells): string {
  return `count ${count as number}, min ${min as number}, max ${max as number}, avg ${(sum as number) / (count as number)}`;
}

const tagged = (tags: unknown): string => (typeof tags === 'string' && tags !== '' && tags !== '[]' ? `, tags ${tags}` : '');
const receivedAt = (ms: unknown): string => (typeof ms === 'number' ? `, received ${new Date(ms).toISOString()}` : '');
const shortened = (value: string): string => (value.length > valueCharacters ? `${value.slice(0, valueCharacters)}…` : value);
