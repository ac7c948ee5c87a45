import type { AnyTopic, Entry, Topic, Views } from '#log';
import type { Asked, AuditNote, Decider, Outcome } from '#model';

/**
 * Something that people change by commands, such as monitors. `deciderOf` decides the commands of an area one after the other, and
 * `Commands` has a command carried out. What one command makes has to fit into one record: 8 KB of effects and notes are always room enough.
 */
export interface Area<State, Command extends Asked, Event, Word extends string = string> {
  /** Never changes: what was decided of late stands under it. */
  readonly name: string;
  readonly topic: Topic<Command>;
  /**
   * The compacted topics that the state is read from and that the effects change. They are read to their ends before anything is decided,
   * and before a caller hears what was: then everything that was changed shows in the views of its process.
   */
  readonly topics: readonly AnyTopic[];
  readonly decider: Decider<State, Command, Event>;
  /** How to read the state; called once the views hold all of `topics`. @param orgId of the commands. */
  stateIn(views: Views): (orgId: string) => State;
  outcomeOf(event: Event): Outcome<Word>;
  /** What follows from an event, in this order; an effect may come twice. */
  effectsOf(event: Event): readonly Entry[];
  /** What the event changes, for the audit log; nothing for a refusal. */
  auditOf(event: Event): readonly AuditNote[];
}

/** Any area: for code that does not look into it. */
export type AnyArea = Area<unknown, Asked, unknown>;
