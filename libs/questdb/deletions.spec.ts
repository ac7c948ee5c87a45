import { describe, expect, it } from '@jest/globals';
import { afterDeletions } from './deletions.js';

interface Body {
  readonly orgId: string;
  readonly sourceId: string;
  readonly metrics: readonly string[];
  readonly deleted: { readonly metric: string | null } | null;
}
type Row = readonly [sourceId: string, ...metrics: string[]];

/** What deletes a source is its name behind `-`, and of one metric that is behind a slash. */
const record = ([name, ...metrics]: Row, offset: number) => {
  const [sourceId, metric = null] = name.replace('-', '').split('/') as [string, string?];
  const value: Body = { orgId: sourceId === 'other' ? 'p' : 'o', sourceId, metrics, deleted: name.startsWith('-') ? { metric } : null };
  return { partition: 0, offset, value };
};
const without = (of: ReturnType<typeof record>, isGone: (metric: string) => boolean): ReturnType<typeof record> => ({
  ...of,
  value: { ...of.value, metrics: of.value.metrics.filter((metric) => !isGone(metric)) },
});

describe('what records come to that also delete', () => {
  it.each<[string, readonly Row[], readonly number[], readonly (readonly [offset: number, ...metrics: string[]])[]]>([
    ['nothing is deleted', [['s', 'a'], ['t']], [], [[0, 'a'], [1]]],
    ['a source is', [['s', 'a', 'b'], ['t', 'a'], ['-s'], ['s', 'a']], [2], [[0], [1, 'a'], [3, 'a']]],
    [
      'a metric is',
      [['s', 'a', 'b'], ['-s/a'], ['s', 'a']],
      [1],
      [
        [0, 'b'],
        [2, 'a'],
      ],
    ],
    [
      'one between others again and again',
      [['s', 'a'], ['-s'], ['t', 'a'], ['-s'], ['s', 'b'], ['-s/a'], ['s', 'a']],
      [1, 3, 5],
      [[0], [2, 'a'], [4, 'b'], [6, 'a']],
    ],
    ['a metric and then the source', [['s', 'a', 'b'], ['-s/a'], ['s', 'a', 'b'], ['-s'], ['s', 'c']], [1, 3], [[0], [2], [4, 'c']]],
    ['nothing else stands there', [['-s'], ['-t/a']], [0, 1], []],
  ])('%s', (_, rows, deletions, left) => {
    const found = afterDeletions(rows.map(record), without);
    expect(found.deletions.map(({ offset }) => offset)).toEqual(deletions);
    expect(found.left.map(({ offset, value }) => [offset, ...value.metrics])).toEqual(left);
  });
});
