import { describe, expect, it } from '@jest/globals';
import { readCommandLine, usage } from './command-line.js';
import type { Figure } from './report.js';

const run = async (): Promise<void> => {};
const figures: readonly Figure[] = [
  { names: { D1: 'large bodies' }, shape: 'embedded', run },
  { names: { G3: 'the processors', 'D2@8': 'few connections' }, shape: 'cluster', run },
];

describe('the command line of the bench', () => {
  it.each([
    ['', { names: [], pairs: 5, wantsHelp: false }],
    ['D1 D2@8 --pairs=1', { names: ['D1', 'D2@8'], pairs: 1, wantsHelp: false }],
    ['--pairs 3 G3', { names: ['G3'], pairs: 3, wantsHelp: false }],
    ['--help', { names: [], pairs: 5, wantsHelp: true }],
    ['D1 -h', { names: ['D1'], pairs: 5, wantsHelp: true }],
  ])('`%s` asks for %j', (words, expected) => {
    expect(readCommandLine(words.split(' ').filter(Boolean), figures)).toEqual(expected);
  });

  it.each([
    ['D9', 'There is no figure D9.'],
    ['D1 toString D9', 'There is no figure toString, D9.'],
    ['--pair=3', "Unknown option '--pair'"],
    ['--pairs=none', 'Give --pairs a whole number from 1.'],
    ['--pairs=0', 'Give --pairs a whole number from 1.'],
    ['--pairs=', 'Give --pairs a whole number from 1.'],
  ])('`%s` is refused: %s, with all figures', (words, message) => {
    const read = (): unknown => readCommandLine(words.split(' '), figures);
    expect(read).toThrow(message);
    expect(read).toThrow(usage(figures));
  });

  it('has a line for each name', () => {
    expect(usage(figures).split('\n')).toEqual(
      expect.arrayContaining(['  D1    embedded  large bodies', '  G3    cluster   the processors', '  D2@8  cluster   few connections']),
    );
  });
});
