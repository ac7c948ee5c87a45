/** A figure, or figures that come from the same runs. */
export interface Figure {
  /** The words that ask for it on the command line, and what is measured then. */
  readonly names: Readonly<Record<string, string>>;
  /** Which servers it measures: those of the cluster need Java and Maven. */
  readonly shape: 'embedded' | 'cluster';
  run(asked: Asked): Promise<void>;
}

export interface Asked {
  /** How often both sides are run, in turn. */
  readonly pairs: number;
  /** Whether a figure of this name is wanted. */
  readonly wanted: (name: string) => boolean;
}

const sorted = (of: readonly number[]): number[] => of.toSorted((a, b) => a - b);
export const median = (of: readonly number[]): number => sorted(of)[Math.floor(of.length / 2)]!;

/** The median, with the least and the most. */
export function spread(of: readonly number[], digits: number): string {
  const all = sorted(of);
  return `${median(of).toFixed(digits)} (${all[0]!.toFixed(digits)}–${all.at(-1)!.toFixed(digits)})`;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function percentiles(of: readonly number[]): Percentiles {
  const all = sorted(of);
  const at = (share: number): number => all[Math.min(all.length - 1, Math.floor(all.length * share))]!;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Ratios of one side to the other, pair by pair. */
export const ratios = (ours: readonly number[], theirs: readonly number[]): number[] => ours.map((one, at) => one / theirs[at]!);

/** A figure as a table, and as one line of JSON. */
export function print(figure: string, columns: Readonly<Record<string, string | number>>): void {
  console.log(`\n${figure}`);
  for (const [name, value] of Object.entries(columns)) console.log(`  ${name.padEnd(40)} ${value}`);
  console.log(JSON.stringify({ figure, ...columns }));
}
