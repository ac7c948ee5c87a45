export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function percentiles(of: readonly number[]): Percentiles {
  const all = of.toSorted((a, b) => a - b);
  const at = (share: number): number => all[Math.min(all.length - 1, Math.floor(all.length * share))]!;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
