import { compareUtf8, type Interval } from '#model';

/** What a stored row says: a point, a bucket of a stored rollup, that a source has a metric, an event. */
export type RowKind = 'raw' | '1m' | '1h' | '1d' | 'metric names' | 'events';

/** One time in the rows of one kind. */
export interface Moment {
  readonly what: RowKind;
  readonly timestampMs: number;
}

/** Null only in rows that another program has written. */
type Name = string | null;
type Cells = readonly unknown[];

/**
 * A row of a generation: time in Unix milliseconds, organization, source, metric, and then, by kind: tags (null when there are none), value ·
 * min, max, sum, count · 1 · digest, value, tags, receive time, place. Tags are as `tagsKey` writes them. The name of a metric has time 0.
 */
export interface StoredRow {
  readonly what: RowKind;
  readonly row: readonly [timestampMs: number, orgId: Name, sourceId: Name, metric: Name, ...cells: unknown[]];
}

/** Something that a store says and should not, or the other way round. */
export interface Difference {
  readonly what: Interval | 'metric names' | 'events' | 'source' | 'damage';
  readonly orgId?: string;
  readonly sourceId?: string;
  readonly metric?: string;
  /** Event time, or the start of a bucket; the name of a metric has none. */
  readonly timestampMs?: number;
  /** By the log, in words. */
  readonly expected: string;
  /** In the store, in words. */
  readonly found: string;
}

/** What two generations say of one thing. */
export interface Compared extends Moment {
  /** Undefined where they say the same. */
  readonly difference: (Difference & { readonly key: string }) | undefined;
}

const kinds: readonly RowKind[] = ['raw', '1m', '1h', '1d', 'metric names', 'events'];
/** Kinds whose rows are told apart by the first cell too: tags or a digest. */
const toldApartByCell: ReadonlySet<RowKind> = new Set(['raw', 'events']);

const avgTolerance = 1e-9;
const maxCharacters = 80;
/** Where an event's receive time stands among its cells, behind which its place stands. */
const receivedCell = 3;

/** Orders rows by kind, time, organization, source, metric, and tags or digest; texts by their UTF-8 bytes. 0 for rows of the same thing. */
export function compareRows(a: StoredRow, b: StoredRow): number {
  if (a.what !== b.what) return kinds.indexOf(a.what) - kinds.indexOf(b.what);
  const [aMs, aOrg, aSource, aMetric] = a.row;
  const [bMs, bOrg, bSource, bMetric] = b.row;
  const byNames = aMs - bMs || compareNames(aOrg, bOrg) || compareNames(aSource, bSource) || compareNames(aMetric, bMetric);
  return byNames || (toldApartByCell.has(a.what) ? compareNames(a.row[4] as Name, b.row[4] as Name) : 0);
}

const compareNames = (a: Name, b: Name): number => compareUtf8(a ?? '', b ?? '');

/** Visits everything that one of two generations has a row of, in the order of `compareRows`, in which both come. Holds one row of each. */
export async function* compare(expected: AsyncGenerator<StoredRow>, found: AsyncGenerator<StoredRow>): AsyncGenerator<Compared> {
  try {
    let [a, b] = await Promise.all([expected.next(), found.next()]);
    while (!a.done || !b.done) {
      const order = a.done ? 1 : b.done ? -1 : compareRows(a.value, b.value);
      yield compared(order <= 0 ? a.value : undefined, order >= 0 ? b.value : undefined);
      [a, b] = await Promise.all([order <= 0 ? expected.next() : a, order >= 0 ? found.next() : b]);
    }
  } finally {
    await Promise.all([expected.return(undefined), found.return(undefined)]);
  }
}

function compared(expected: StoredRow | undefined, found: StoredRow | undefined): Compared {
  const any = (expected ?? found)!;
  const { what, row } = any;
  const isSame = expected && found && same(what, expected.row.slice(4), found.row.slice(4));
  return { what, timestampMs: row[0], difference: isSame ? undefined : differenceOf(any, expected, found) };
}

/**
 * Whether all cells are equal, but for two allowances. Tables of an earlier version may lack an event's receive time, and then its place says
 * nothing either. Of a bucket the average counts instead of the sum, as near as sums of doubles in another order come.
 */
function same(what: RowKind, a: Cells, b: Cells): boolean {
  if (what === 'events' && (a[receivedCell] === null || b[receivedCell] === null))
    return a.slice(0, receivedCell).every((cell, at) => cell === b[at]);
  if (what === 'raw' || what === 'events' || what === 'metric names') return a.every((cell, at) => cell === b[at]);
  const [min, max, sum, count] = a as number[];
  const [otherMin, otherMax, otherSum, otherCount] = b as number[];
  const slack = avgTolerance * Math.max(Math.abs(min!), Math.abs(max!));
  return min === otherMin && max === otherMax && count === otherCount && Math.abs(sum! / count! - otherSum! / otherCount!) <= slack;
}

function differenceOf({ what, row }: StoredRow, expected: StoredRow | undefined, found: StoredRow | undefined): Compared['difference'] {
  const [timestampMs, orgId, sourceId, metric] = row;
  return {
    what,
    orgId: orgId ?? '',
    sourceId: sourceId ?? '',
    metric: metric ?? '',
    ...(what !== 'metric names' && { timestampMs }),
    expected: inWords(expected),
    found: inWords(found),
    key: JSON.stringify([what, ...row.slice(0, toldApartByCell.has(what) ? 5 : 4)]),
  };
}

function inWords(stored: StoredRow | undefined): string {
  if (!stored) return 'nothing';
  const cells: Cells = stored.row.slice(4);
  if (stored.what === 'metric names') return 'the name';
  if (stored.what === 'raw') return `value ${cells[1] as number}${tagged(cells[0])}`;
  if (stored.what === 'events') {
    const [, value, tags, received, place] = cells;
    return `${shortened(value as string)}${tagged(tags)}${receivedAt(received)}, place ${place as number}`;
  }
  const [min, max, sum, count] = cells as number[];
  return `count ${count}, min ${min}, max ${max}, avg ${sum! / count!}`;
}

const tagged = (tags: unknown): string => (typeof tags === 'string' && tags !== '' && tags !== '[]' ? `, tags ${tags}` : '');
const receivedAt = (ms: unknown): string => (typeof ms === 'number' ? `, received ${new Date(ms).toISOString()}` : '');
const shortened = (value: string): string => (value.length > maxCharacters ? `${value.slice(0, maxCharacters)}…` : value);
