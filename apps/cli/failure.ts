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

export const usage = (message: string): Failure => new Failure(message, exitCodes.usage);
