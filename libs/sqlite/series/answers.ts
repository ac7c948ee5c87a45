import type { SelectedRows } from '#model';
import type { BucketColumns } from '#stores';

/** What the reader thread answers for buckets: columns (start, min, max, sum, count) and which series have a bucket in the window. */
export type BucketRows = SelectedRows & { readonly present: Uint8Array };

/** The rows of each series, in the order of the request, as what `make` makes of its columns. */
export function bySeries<T>({ counts, columns }: SelectedRows, make: (columns: readonly Float64Array[]) => T): T[] {
  let from = 0;
  return Array.from(counts, (count) => {
    const to = from + count;
    const made = make(columns.map((column) => column.subarray(from, to)));
    from = to;
    return made;
  });
}

export function bucketColumns([timestampMs, min, max, sum, count]: readonly Float64Array[]): BucketColumns {
  return { timestampMs: timestampMs!, min: min!, max: max!, avg: sum!.map((it, at) => it / count![at]!), count: count! };
}
