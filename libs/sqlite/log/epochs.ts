import { randomBytes } from 'node:crypto';

/** The records that were appended between one opening of the log and the next: those from `start` on, up to the next epoch's start. */
export interface Epoch {
  /** Offset of its first record. */
  readonly start: number;
  /** Random, so that no two logs share one: it tells whether a store was made from this log. */
  readonly id: string;
}

/** The epoch of an opening of the log, which begins at its head. An opening that appends nothing leaves no epoch. */
export const beginEpoch = (start: number): Epoch => ({ start, id: randomBytes(8).toString('hex') });
