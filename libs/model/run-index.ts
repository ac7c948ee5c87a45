import { maxPoints, type Tags } from './point.js';

/** What all points of one run have in common. */
export interface RunOfSource {
  /** The number of its source in the body. */
  readonly source: number;
  readonly metric: string;
  readonly tags: Tags;
}

/** Numbers for runs, in the order in which they are added: 0, 1, 2, … */
export class RunIndex {
  readonly #metrics = new Map<string, number>();
  readonly #tagSets = new Map<Tags, number>();
  /**
   * By the numbers of source, metric and tags, which are less than `maxPoints`, so that no two runs have the same sum: one key of text for each would
   * have to be made and hashed for every point.
   */
  readonly #runs = new Map<number, number>();

  /** @param runs that have a number already, all different. */
  constructor(runs: readonly RunOfSource[]) {
    for (const run of runs) this.add(run);
  }

  /** The number of this run, the next one up where it is new. */
  add({ source, metric, tags }: RunOfSource): number {
    return numberIn(this.#runs, (numberIn(this.#tagSets, tags) * maxPoints + source) * maxPoints + numberIn(this.#metrics, metric));
  }
}

/** The number of this key, the next one up where it is new. */
function numberIn<K>(numbers: Map<K, number>, key: K): number {
  let number = numbers.get(key);
  if (number === undefined) numbers.set(key, (number = numbers.size));
  return number;
}
