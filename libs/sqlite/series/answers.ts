import type { SelectedRows } from '#model';
import type { BucketColumns } from '#stores';

/** What the reader thread answers for buckets: columns (start, min, max, avg, count), and which series have a bucket in the window. */
export type BucketRows = SelectedRows & { readonly present: Uint8Array };

/** The rows of each series, in the order of the request, as what `make` makes of the columns of all and of where its rows begin and end. */
export function spans<T>({ counts, columns }: SelectedRows, make: (columns: readonly Float64Array[], from: number, to: number) => T): T[] {
  let from = 0;
  return Array.from(counts, (count) => {
    const made = make(columns, from, from + count);
    from += count;
    return made;
  });
}

/** Rows [from, to) of columns of buckets. */
export function bucketColumns(columns: readonly Float64Array[], from: number, to: number): BucketColumns {
  const [timestampMs, min, max, avg, count] = columns.map((column) => column.subarray(from, to)) as [
    Column,
    Column,
    Column,
    Column,
    Column,
  ];
  return { timestampMs, min, max, avg, count };
}

type Column = Float64Array;
