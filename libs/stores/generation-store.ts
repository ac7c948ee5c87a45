import type { Metric } from '#model';
import type { Moment, StoredRow } from './compare.js';
import type { Stores } from './generations.js';
import type { KeptFrom } from './kept-from.js';

/** How long an operator's command keeps asking a store that does not answer. */
export interface Patience {
  readonly ms: number;
  /** Called after each attempt without an answer. */
  readonly silent: () => void;
}

/**
 * A database that several processes write and read, and that holds generations of the projections side by side. A generation is a number;
 * the log says which one readers see. The embedded stores do not implement this port: one process has them open, a rebuild runs while that
 * process is stopped and writes new files that replace the old ones, so there is one generation for good (`onlyGeneration`).
 */
export interface GenerationStore {
  /**
   * Asks the database nothing. The same object for the same number, while that is one of the three that were asked for last; an object that
   * is not takes no more. Calls of a generation that was not made reject `store_unavailable`.
   */
  open(generation: number): Stores;
  /**
   * Makes what the generation lacks; what an earlier version has made stays as it is. Rejects `store_unavailable`, at once when the database
   * refuses, and after `patience` of silence (some seconds by default); OperatorError when the operator has to change something.
   */
  ensure(generation: number, patience?: Patience): Promise<void>;
  /** What readers and writers of a generation lack because an earlier version made it, as sentences. Rejects `store_unavailable`. */
  shortcomings(generation: number): Promise<readonly string[]>;
  /** Makes people's SQL see this generation, and no other one. */
  publish(generation: number): Promise<void>;
  /** Deletes the generation with all of its rows; one that was never made may be dropped too. */
  drop(generation: number): Promise<void>;
  /** From when on a generation is kept, as every process is told. Rejects `store_unavailable`. */
  keptFrom(generation: number): Promise<KeptFrom>;
  /**
   * Moves these moments forward; one that would move back stays. Half a minute later at most no process takes or shows what is before them. Whoever
   * calls knows that buckets are stored of all points before `raw` and that nothing else is to come of them. Rejects `store_unavailable`.
   */
  keepFrom(generation: number, from: Partial<KeptFrom>): Promise<void>;
  /**
   * Gives back the room of what is before these moments, as far as the database can: some of it may stay for longer. They must have been what
   * `keptFrom` says for some minutes. Rejects `store_unavailable`.
   */
  dropBefore(generation: number, from: KeptFrom): Promise<void>;
  /**
   * Gives a generation that nothing was written to what the log is not to make again of another one: its boundaries, the buckets from before its
   * points, and the names of metrics; or `everything`, where the log no longer has all records. What is written on top of it changes what it would change there.
   * Rejects `store_unavailable`.
   */
  takeOver(generation: number, from: number, everything: boolean): Promise<void>;
  /** Whether `takeOver` has given it everything. Rejects `store_unavailable`. */
  hasEverything(generation: number): Promise<boolean>;
  /**
   * Every row that was checkpointed and is kept, in the order of `compareRows`; of an event that came in several bodies only the row with the least
   * (receive time, place). Rejects `store_unavailable`, also when the generation was not made.
   *
   * @param at only the rows of this moment.
   * @param from only rows at or after these moments, one moment for each kind of row.
   */
  rows(generation: number, at?: Moment, from?: KeptFrom): AsyncGenerator<StoredRow>;
  /** Why rows do not come through, in words for the operator; undefined while they do. */
  health(): string | undefined;
  /** Why nothing may be written until the operator changes something, or until the database can be asked; undefined when it may. */
  whyNotWritten(): string | undefined;
  readonly metrics: readonly Metric[];
  /** Takes no more. What was not checkpointed is only in the log. */
  close(): Promise<void>;
  /** Ends at once, as if the process died. For tests. */
  crash(): Promise<void>;
}
