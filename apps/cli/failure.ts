import { HeadwaterError } from '#client';
import { isoTimeMs, TelemetryError } from '#model';

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

/** What a person can do with the commands about an error of the client library. */
const hints: Readonly<Record<string, string>> = {
  no_answer: 'Is the server running? `headwater serve` starts one; --url names another.',
  timeout: 'Is the server running? `headwater serve` starts one; --url names another.',
  page_full: 'To do that, choose fewer metrics with --metric.',
  401: 'Check HEADWATER_API_KEY, or store another key with `headwater init`.',
};

/** What went wrong between the command and a server, for a person; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (!(error instanceof HeadwaterError)) return error;
  const { code, status, message } = error;
  const hint = hints[status ?? code];
  const exitCode = code === 'invalid_argument' ? exitCodes.usage : exitCodes.failed;
  return new Failure(hint ? `${message} ${hint}` : message, exitCode, { cause: error });
}

/** Whether the same may succeed later with nothing changed. */
export const mayPass = (error: unknown): boolean =>
  error instanceof HeadwaterError && (error.status === undefined || error.status === 429 || error.status >= 500);

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

/** The value of a flag that is a time, Unix milliseconds. */
export function readTime(flag: string, text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : isoTimeMs(text);
  if (text !== undefined && (ms === undefined || ms < 0)) throw usage(`${flag} "${text}" is no time like 2026-11-01T00:00Z.`);
  return ms;
}
