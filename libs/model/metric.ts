export type Labels = Readonly<Record<string, string>>;

export interface Sample<T = number> {
  readonly labels: Labels;
  readonly value: T;
}

/** One value, or one for each set of labels. */
export type Figure = number | readonly Sample[];

interface Described {
  /** snake_case, without `_total`. What it ends in is its unit: `_seconds`, `_bytes`, or the things that are counted. */
  readonly name: string;
  readonly help: string;
}

/** One histogram, or one for each set of labels. */
export type Distribution = Histogram | readonly Sample<Histogram>[];

/** A figure for the operator. Its owner keeps plain numbers; they are read when somebody looks. */
export type Metric =
  | (Described & { readonly kind: 'counter' | 'gauge'; read(): Figure | Promise<Figure> })
  | (Described & { readonly kind: 'histogram'; read(): Distribution });

export const counter = (name: string, help: string, read: () => Figure | Promise<Figure>): Metric => ({
  kind: 'counter',
  name,
  help,
  read,
});
export const gauge = (name: string, help: string, read: () => Figure | Promise<Figure>): Metric => ({ kind: 'gauge', name, help, read });
export const histogram = (name: string, help: string, read: () => Distribution): Metric => ({ kind: 'histogram', name, help, read });

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
