import type { Difference } from '#stores';

/** Counts differences and keeps the first ones. */
export class Findings {
  readonly first: Difference[] = [];
  count = 0;

  constructor(private readonly max: number) {}

  add(difference: Difference): void {
    if (this.count++ < this.max) this.first.push(difference);
  }
}
