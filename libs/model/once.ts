import { maxCommandMs, type Decider } from './decider.js';

/** Who asks for a change. */
export interface Actor {
  /** Id of an account or of a key, or `operator`; empty where nobody knows. */
  readonly id: string;
  /** As people know it: an address, or the name of a key. */
  readonly name: string;
}

/** What every command says, beside what it asks. */
export interface Asked {
  /** The organization that it is about; empty where it is about none. */
  readonly orgId: string;
  /** Names the command: what comes again under its id is the same command. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly askedMs: number;
  readonly by: Actor;
}

/** What became of a command. */
export interface Outcome<Word extends string = string> {
  /** What was done, or why it is refused, in one word of the area. */
  readonly word: Word;
  /** Id of the thing that is meant; empty where there is none. */
  readonly about: string;
}

/** A command that was decided. */
export interface Decided {
  readonly id: string;
  readonly askedMs: number;
  /** The word of its outcome. */
  readonly outcome: string;
}

/** What was decided of late: all that might come again. */
export interface DecidedOfLate {
  readonly decided: readonly Decided[];
  /** When the last command was decided: a clock that is behind makes no command younger. */
  readonly atMs: number;
}

export interface OnceState<State> extends DecidedOfLate {
  readonly of: State;
}

export interface OnceEvent<Event> {
  readonly decided: Decided;
  readonly outcome: Outcome;
  /** What the decider made of the command. */
  readonly events: readonly Event[];
  readonly atMs: number;
}

/** Commands that are decided in `maxCommandMs`: what comes beyond them waits for too long and is never carried out. */
export const maxDecided = 1_000;

export const nothingDecided: DecidedOfLate = { decided: [], atMs: 0 };

/**
 * A decider that decides each command once, and only in time: nothing when it was decided before, has waited for too long, or comes from a
 * clock that is far ahead, which would have it remembered for long.
 *
 * @param decider makes at least one event of each command.
 * @param outcomeOf what became of a command, by the last of its events.
 */
export function once<State, Command, Event>(
  decider: Decider<State, Command, Event>,
  outcomeOf: (event: Event) => Outcome,
): Decider<OnceState<State>, Command & Asked, OnceEvent<Event>> {
  return {
    initial: { of: decider.initial, ...nothingDecided },

    decide(state, command, nowMs) {
      const { id, askedMs } = command;
      const atMs = Math.max(nowMs, state.atMs);
      const isKnown = state.decided.some((one) => one.id === id);
      if (isKnown || !isInTime(command, atMs) || recent(state, atMs).length >= maxDecided) return [];
      const events = decider.decide(state.of, command, atMs);
      const outcome = outcomeOf(events.at(-1)!);
      return [{ decided: { id, askedMs, outcome: outcome.word }, outcome, events, atMs }];
    },

    evolve: (state, { decided, events, atMs }) => ({
      of: events.reduce((of, event) => decider.evolve(of, event), state.of),
      decided: [...recent(state, atMs), decided],
      atMs,
    }),
  };
}

const recent = ({ decided }: DecidedOfLate, atMs: number): readonly Decided[] => decided.filter((one) => isInTime(one, atMs));
const isInTime = ({ askedMs }: Pick<Asked, 'askedMs'>, atMs: number): boolean => Math.abs(atMs - askedMs) < maxCommandMs;
