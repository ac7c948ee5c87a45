/** What a name ends in: `_seconds`, `_bytes`, or the things that are counted. */
type Unit = 'seconds' | 'bytes' | '';

export type Labels = Readonly<Record<string, string>>;

export interface Sample<T = number> {
  readonly labels: Labels;
  readonly value: T;
}

/** One value, or one for each set of labels. */
export type Figure = number | readonly Sample[];

interface Described {
  /** snake_case, with the unit at its end and without `_total`. */
  readonly name: string;
  readonly unit: Unit;
  readonly help: string;
}

/** One histogram, or one for each set of labels. */
export type Distribution = Histogram | readonly Sample<Histogram>[];

/** A figure for the operator. Its owner keeps plain numbers; they are read when somebody looks. */
export type Metric =
  | (Described & { readonly kind: 'counter' | 'gauge'; read(): Figure | Promise<Figure> })
  | (Described & { readonly kind: 'histogram'; read(): Distribution });

/** Counts of observations by size. */
export class Histogram {
  /** Observations at most as large as the bound of the same index and larger than the one before; the last entry holds the rest. */
  readonly counts: Float64Array;
  sum = 0;

  /** @param bounds ascending. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]!) at++;
    this.counts[at]!++;
    this.sum += value;
  }
}
