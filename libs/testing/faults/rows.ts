import type { LoadProcess } from '../load/load-process.js';
import type { Refused, Stage } from './stage.js';

/** Something that breaks. */
export interface Row {
  /** Roles whose requests may be refused meanwhile, with 503 and Retry-After. */
  readonly mayRefuse: readonly (keyof Refused)[];
  /** Breaks it and mends it. */
  readonly fault: (stage: Stage, load: LoadProcess) => Promise<void>;
}

/** What must not have been refused. */
export function untouched({ mayRefuse }: Row): Partial<Refused> {
  const nobody: Refused = { ingress: 0, query: 0, control: 0 };
  return Object.fromEntries(Object.entries(nobody).filter(([role]) => !mayRefuse.includes(role as keyof Refused)));
}
