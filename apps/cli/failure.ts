import { TelemetryError } from '#model';

/** What the exit code of the command says. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143, readerGone: 141 } as const;

/** Ends a command. The message is a sentence for a person that says what to do next; never a key. */
export class Failure extends Error {
  override readonly name: string = 'Failure';

  constructor(
    message: string,
    readonly exitCode: number = exitCodes.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Something in a file that a person has to mend: running the command again as it is cannot help. */
export class BadFile extends Failure {
  override readonly name = 'BadFile';
}

export const usage = (message: string): Failure => new Failure(message, exitCodes.usage);

/** What `check` makes of the value of a flag. @throws Failure that names the flag, when the value is not valid. */
export function flagged<T>(flag: string, value: string, check: (value: string) => T): T {
  try {
    return check(value);
  } catch (cause) {
    if (cause instanceof TelemetryError && cause.kind === 'invalid')
      throw new Failure(`${flag} "${value}": ${cause.message}`, exitCodes.usage, { cause });
    throw cause;
  }
}
