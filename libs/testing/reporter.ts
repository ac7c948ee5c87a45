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

/** The names of what did not run: a suite where none of its rows did, else the rows. */
export function notRun(rows: readonly Row[]): readonly string[] {
  const suites = Map.groupBy(rows, ({ ancestorTitles, title }) => ancestorTitles[0] ?? title);
  return [...suites].flatMap(([suite, members]) => {
    const left = members.filter(({ status }) => neverRan.has(status));
    return left.length === members.length ? [suite] : left.map(nameOf);
  });
}

/** The last lines of a run: what did not run, by name, and one total. */
export function closing({ numPassedTests, numFailedTests, testResults }: Results): string {
  const broken = testResults.filter(({ testExecError }) => testExecError !== undefined && testExecError !== null);
  const lines = [
    ...testResults.flatMap((file) => notRun(file.testResults)).map((name) => `not run: ${name}`),
    ...broken.map(({ testFilePath }) => `could not be run: ${testFilePath}`),
    `${numPassedTests} passed, ${numFailedTests + broken.length} failed`,
  ];
  return `\n${lines.join('\n')}\n`;
}

/** Prints the closing lines when the process ends: jest prints its own summary after all reporters. */
export default class ClosingReporter {
  constructor(private readonly config: { readonly testNamePattern?: string }) {}

  onRunComplete(_contexts: unknown, results: Results): void {
    // A run of a part was asked for: naming all the rest would be noise.
    const testResults = this.config.testNamePattern ? [] : results.testResults;
    process.once('exit', () => process.stderr.write(closing({ ...results, testResults })));
  }
}
