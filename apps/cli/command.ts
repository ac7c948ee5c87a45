import type { Io } from './io.js';

/** A flag of a command; without `value` it is a switch. */
export interface Flag {
  readonly about: string;
  /** What stands for the value in the help. */
  readonly value?: string;
  readonly default?: string;
  readonly required?: true;
  /** May be given more than once. */
  readonly many?: true;
}

/** Flags by their name in camel case: `apiKey` is typed `--api-key`. */
export type Flags = Readonly<Record<string, Flag>>;

type Value<F extends Flag> = F extends { many: true }
  ? readonly string[]
  : F extends { required: true } | { default: string }
    ? string
    : F extends { value: string }
      ? string | undefined
      : boolean;

export type Values<F extends Flags> = { readonly [Name in keyof F]: Value<F[Name]> };

interface Argument {
  readonly name: string;
  readonly about: string;
}

export interface CommandBody<F extends Flags = Flags> {
  /** What help says below the summary. */
  readonly about: string;
  readonly argument?: Argument;
  readonly secondArgument?: Argument;
  readonly flags: F;
  /** The command waits for a person, or runs until it is stopped: it shows no progress. */
  readonly interactive?: true;
  /** Lines to type, the most ordinary first. */
  readonly examples: readonly string[];
  /** Rejects with `Failure` for what a person can mend. An argument is '' when the command has none. */
  run(flags: Values<F>, io: Io, argument: string, secondArgument: string): Promise<void>;
}

/** Keeps the names of the flags in the type of `run`. */
export function command<const F extends Flags>(body: CommandBody<F>): CommandBody {
  return body;
}
