import { describe, expect, it } from '@jest/globals';
import { closing } from './reporter.js';

const row = (path: string, status: string) => ({
  ancestorTitles: path.split(' › ').slice(0, -1),
  title: path.split(' › ').at(-1)!,
  status,
});
const file = (rows: readonly ReturnType<typeof row>[], testExecError?: unknown) => ({
  testFilePath: '/x/a.spec.js',
  testExecError,
  testResults: rows,
});

describe('a run ends with one total, and by name with what did not run', () => {
  it.each([
    ['all ran', [file([row('a › one', 'passed'), row('two', 'failed')])], '\n1 passed, 1 failed\n'],
    ['a row did not', [file([row('a › one', 'passed'), row('a › b › two', 'pending')])], '\nnot run: a › b › two\n1 passed, 1 failed\n'],
    [
      'a suite did not',
      [file([row('a › one', 'pending'), row('a › b › two', 'todo'), row('c › d', 'passed')])],
      '\nnot run: a\n1 passed, 1 failed\n',
    ],
    ['a row outside of suites did not', [file([row('alone', 'pending')])], '\nnot run: alone\n1 passed, 1 failed\n'],
    ['a file broke', [file([], new Error('syntax'))], '\ncould not be run: /x/a.spec.js\n1 passed, 2 failed\n'],
  ])('%s', (_, testResults, expected) => {
    expect(closing({ numPassedTests: 1, numFailedTests: 1, testResults }, false, [])).toEqual({ text: expected, fails: false });
  });

  it.each([
    ['passes when all ran', [row('a › one', 'passed')], false, ''],
    [
      'fails when something did not',
      [row('a › one', 'pending')],
      true,
      'not run: a\nthe run fails: with HEADWATER_NEED_SERVERS all of it has to run\n',
    ],
    [
      'passes without a browser',
      [row('a › one', 'passed'), row('a › two (needs Chromium)', 'pending')],
      false,
      'not run: a › two (needs Chromium)\n',
    ],
    [
      'passes where nothing may be mounted',
      [row('a › one', 'passed'), row('a › two: three (needs mount)', 'pending')],
      false,
      'not run: a › two: three (needs mount)\n',
    ],
  ])('where servers must be there it %s', (_, rows, fails, lines) => {
    const results = { numPassedTests: 1, numFailedTests: 0, testResults: [file(rows)] };
    expect(closing(results, true, [])).toEqual({ text: `\n${lines}1 passed, 0 failed\n`, fails });
  });

  it('names what is left to another command', () => {
    const results = { numPassedTests: 1, numFailedTests: 0, testResults: [] };
    const text = '\nleft to npm run test:faults: a.faults, b.faults\n1 passed, 0 failed\n';
    expect(closing(results, true, ['a.faults', 'b.faults'])).toEqual({ text, fails: false });
  });
});
