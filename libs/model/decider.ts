/**
 * The rules of something that changes by commands, as pure functions of what is known of it, so that they are the same wherever they run.
 * They give uniqueness, and changes that depend on what is there, only to one writer at a time: of two commands the second is decided on
 * what the first has made of the state. That each command is decided once, and in time, is the business of `once`.
 */
export interface Decider<State, Command, Event> {
  readonly initial: State;
  /**
   * What a command makes of this state. A refusal is an event too, so that a command that comes again is not carried out after its sender
   * was told that it is refused.
   *
   * @param nowMs Unix milliseconds.
   */
  decide(state: State, command: Command, nowMs: number): readonly Event[];
  evolve(state: State, event: Event): State;
}

/** A command that has waited for this long is never carried out: by then its sender was told to try again, and may have done so. */
export const maxCommandMs = 5_000;
