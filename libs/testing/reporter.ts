import { needServers } from './server-variables.js';

/** What jest tells a reporter, as far as it matters here. */
interface Row {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
}
interface File {
  readonly testFilePath: string;
  readonly testExecError?: unknown;
  readonly testResults: readonly Row[];
}
interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly File[];
}

const nameOf = ({ ancestorTitles, title }: Row): string => [...ancestorTitles, title].join(' › ');
const neverRan = new Set(['pending', 'skipped', 'todo', 'disabled']);

/** Ends the names of rows that fail no run where they do not run: nobody has to install a browser, or to be allowed to mount a file system. */
const optional = /\(needs (Chromium|mount)\)$/;

/** The names of what did not run: a suite where none of its rows did, else the rows. */
export function notRun(rows: readonly Row[]): readonly string[] {
  const suites = Map.groupBy(rows, ({ ancestorTitles, title }) => ancestorTitles[0] ?? title);
  return [...suites].flatMap(([suite, members]) => {
    const left = members.filter(({ status }) => neverRan.has(status));
    return left.length === members.length ? [suite] : left.map(nameOf);
  });
}

/**
 * The last lines of a run: what did not run, by name, and one total.
 * @param needsAll whether a run fails when something did not run.
 * @param leftOut suites that only `npm run test:faults` runs: they fail no run.
 */
export function closing(
  { numPassedTests, numFailedTests, testResults }: Results,
  needsAll: boolean,
  leftOut: readonly string[],
): { text: string; fails: boolean } {
  const left = testResults.flatMap((file) => notRun(file.testResults));
  const broken = testResults.filter(({ testExecError }) => testExecError !== undefined && testExecError !== null);
  const fails = needsAll && left.some((name) => !optional.test(name));
  const lines = [
    ...(leftOut.length ? [`left to npm run test:faults: ${leftOut.join(', ')}`] : []),
    ...left.map((name) => `not run: ${name}`),
    ...broken.map(({ testFilePath }) => `could not be run: ${testFilePath}`),
    ...(fails ? [`the run fails: with ${needServers} all of it has to run`] : []),
    `${numPassedTests} passed, ${numFailedTests + broken.length} failed`,
  ];
  return { text: `\n${lines.join('\n')}\n`, fails };
}

/** Prints the closing lines when the process ends: jest prints its own summary after all reporters. */
export default class ClosingReporter {
  constructor(
    private readonly config: { readonly testNamePattern?: string; readonly testPathPatterns: { readonly patterns: readonly string[] } },
    private readonly options: { readonly leftOut: readonly string[] },
  ) {}

  onRunComplete(_contexts: unknown, results: Results): void {
    const { testNamePattern, testPathPatterns } = this.config;
    // A run of a part was asked for: naming all the rest would be noise.
    const testResults = testNamePattern ? [] : results.testResults;
    const leftOut = testNamePattern || testPathPatterns.patterns.length ? [] : this.options.leftOut;
    const { text, fails } = closing({ ...results, testResults }, Boolean(process.env[needServers]), leftOut);
    process.once('exit', () => {
      process.stderr.write(text);
      if (fails) process.exitCode = 1;
    });
  }
}
