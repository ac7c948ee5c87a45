import { parseArgs } from 'node:util';
import type { Figure } from './report.js';

interface CommandLine {
  /** Of the figures that are asked for; none asks for all. */
  readonly names: readonly string[];
  readonly pairs: number;
  readonly wantsHelp: boolean;
}

/** @throws Error that names the mistake and all figures. */
export function readCommandLine(words: readonly string[], figures: readonly Figure[]): CommandLine {
  try {
    const options = { pairs: { type: 'string', default: '5' }, help: { type: 'boolean', short: 'h', default: false } } as const;
    const { values, positionals: names } = parseArgs({ args: [...words], options, allowPositionals: true });
    const unknown = names.filter((name) => !figures.some((figure) => Object.hasOwn(figure.names, name)));
    if (unknown.length > 0) throw new Error(`There is no figure ${unknown.join(', ')}.`);
    const pairs = Number(values.pairs);
    if (!Number.isInteger(pairs) || pairs < 1) throw new Error('Give --pairs a whole number from 1.');
    return { names, pairs, wantsHelp: values.help };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage(figures)}`, { cause: error });
  }
}

/** All figures in one table. */
export function usage(figures: readonly Figure[]): string {
  const rows = figures.flatMap(({ names, shape }) => Object.entries(names).map(([name, measures]) => [name, shape, measures] as const));
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, shape, measures]) => `  ${name.padEnd(width)}  ${shape.padEnd(8)}  ${measures}`);
  return `npm run bench -- [figure ...] [--pairs=N]

${table.join('\n')}

Without a name all of them are measured. Those of a cluster need Java 17 and Maven.
--pairs=N is how often each side runs, in turn with the other; of hostile, how many bodies of each kind are sent. It is 5 unless you say so.`;
}
