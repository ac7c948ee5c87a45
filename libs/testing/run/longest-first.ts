import { statSync } from 'node:fs';

/** What jest tells about a file of tests, as far as it matters here. */
interface File {
  readonly path: string;
}

/** Suites that take minutes, although some of their files are a few lines around a contract. */
const long = /(\.cluster|\.faults|crash|exactness)\.spec\.js$/;

/** The order in which files of tests are begun: long ones first, so that in the end no worker waits for the one that has begun the last of them. */
export default class LongestFirst {
  sort<T extends File>(files: readonly T[]): T[] {
    const size = ({ path }: File): number => statSync(path).size + (long.test(path) ? 1e9 : 0);
    return files.toSorted((a, b) => size(b) - size(a));
  }

  /** The order does not depend on runs before. */
  cacheResults(): void {}
}
