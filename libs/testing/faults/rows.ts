import type { LoadProcess } from '../load/load-process.js';
import { isLong } from './durations.js';
import type { LiveLoad } from './live-load.js';
import type { Refused, Stage } from './stage.js';

/** Something that breaks. */
export interface Row {
  /** Roles whose requests may be refused meanwhile, with 503 and Retry-After. */
  readonly mayRefuse: readonly (keyof Refused)[];
  /** How many devices have connections, and people who watch them; none when left out. */
  readonly live?: number;
  /** Breaks it and mends it. */
  readonly fault: (stage: Stage, load: LoadProcess, live: LiveLoad) => Promise<void>;
}

/**
 * Beside other suites a server may be silent for longer than a question waits; what is broken refuses a quarter of dozens of them and more.
 * Alone on a machine nothing is refused.
 */
const maxByChance = isLong ? 0 : 3;

/** Roles that refused although nothing that they need was broken. */
export function refusedInVain(refused: Refused, { mayRefuse }: Row): string[] {
  return Object.entries(refused)
    .filter(([role, count]) => count > maxByChance && !mayRefuse.includes(role as keyof Refused))
    .map(([role, count]) => `${role}: ${count}`);
}
