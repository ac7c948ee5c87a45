import { statSync } from 'node:fs';
import { basename } from 'node:path';

/** What jest tells about a file of tests, as far as it matters here. */
interface File {
  readonly path: string;
}

/** Suites that take minutes, although some of their files are a few lines around a contract. */
const long = /(\.cluster|\.faults|crash|exactness)\.spec\.js$/;

/** Those that take more than two minutes on two cores, the longest first. */
const longest = ['api.cluster', 'kafka-log.cluster', 'cluster.faults', 'exactness.cluster', 'quest-db.cluster', 'exactness'];

const placeOf = (path: string): number => {
  const at = longest.indexOf(basename(path, '.spec.js'));
  return at < 0 ? longest.length : at;
};

/**
 * The order in which files of tests are begun. Of the long ones the longest are first, so that in the end no worker waits for the one that has begun
 * the last of them. The short ones are spread among them: two long suites at once, each with servers of its own, want more than two cores.
 */
export default class LongestFirst {
  sort<T extends File>(files: readonly T[]): T[] {
    const bySize = files.toSorted((a, b) => placeOf(a.path) - placeOf(b.path) || statSync(b.path).size - statSync(a.path).size);
    const { slow = [], quick = [] } = Object.groupBy(bySize, ({ path }) => (long.test(path) ? 'slow' : 'quick'));
    const share = quick.length / Math.max(1, slow.length);
    return [
      ...slow.flatMap((one, at) => [one, ...quick.slice(Math.round(at * share), Math.round((at + 1) * share))]),
      ...(slow.length ? [] : quick),
    ];
  }

  /** The order does not depend on runs before. */
  cacheResults(): void {}
}
