import type { Accepted } from '#model';

export const NAME_ROOM = Symbol('NameRoom');

/** Room for the names that a store has. Names that the store has may always come; where it is full, no others. */
export interface NameRoom {
  /** For this organization. */
  isFull(orgId: string): boolean;
  /** Whether the store has all sources and series of a body; promised where it must look for some. */
  knows(body: Pick<Accepted, 'points' | 'events'>): boolean | Promise<boolean>;
}
