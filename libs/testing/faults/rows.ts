import { isLong } from './durations.js';
import type { Refused, Trouble } from './stage.js';

/** Something that breaks, and what may come of it. */
export interface FaultRow extends Trouble {
  /** Roles whose requests may be refused meanwhile, with 503 and Retry-After. */
  readonly mayRefuse: readonly (keyof Refused)[];
}

/**
 * Beside other suites a server may be silent for longer than a question waits; what is broken refuses a quarter of dozens of them and more.
 * Alone on a machine nothing is refused.
 */
const maxByChance = isLong ? 0 : 3;

/** Roles that refused although nothing that they need was broken. */
export function refusedInVain(refused: Refused, { mayRefuse }: FaultRow): string[] {
  return Object.entries(refused)
    .filter(([role, count]) => count > maxByChance && !mayRefuse.includes(role as keyof Refused))
    .map(([role, count]) => `${role}: ${count}`);
}
