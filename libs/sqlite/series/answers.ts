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

export function bucketColumns(columns: readonly Float64Array[], from: number, to: number): BucketColumns {
  const { timestampMs, min, max, avg, count } = new BucketSpan(columns, from, to);
  return { timestampMs, min, max, avg, count };
}

/** Rows [from, to) of columns of buckets, each made when it is asked for: a fleet has five columns of each of thousands of sources. */
export class BucketSpan implements BucketColumns {
  constructor(
    private readonly columns: readonly Float64Array[],
    private readonly from: number,
    private readonly to: number,
  ) {}

  get timestampMs(): Float64Array {
    return this.#column(0);
  }

  get min(): Float64Array {
    return this.#column(1);
  }

  get max(): Float64Array {
    return this.#column(2);
  }

  get avg(): Float64Array {
    return this.#column(3);
  }

  get count(): Float64Array {
    return this.#column(4);
  }

  #column(at: number): Float64Array {
    return this.columns[at]!.subarray(this.from, this.to);
  }
}

/** One source of a fleet. */
export class SourceSpan extends BucketSpan {
  constructor(
    readonly sourceId: string,
    columns: readonly Float64Array[],
    from: number,
    to: number,
  ) {
    super(columns, from, to);
  }
}
