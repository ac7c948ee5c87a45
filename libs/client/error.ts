/** One thing that is wrong with what was sent. */
export interface Flaw {
  /** JSON pointer (RFC 6901) into the body. */
  readonly pointer: string;
  readonly code: string;
  /** A sentence that says what to change. */
  readonly detail: string;
}

/** Codes that this library gives by itself. All others are of the server: `GET /openapi.json` lists them. */
export type OwnCode =
  /** Nothing came back: no network, no server, or no such address. */
  | 'no_answer'
  /** The server took longer than it may. */
  | 'timeout'
  /** Something answered that is not a Headwater server, or stands before one. */
  | 'not_headwater'
  /** The file of `headwater init` cannot be read. */
  | 'invalid_settings'
  | 'invalid_argument'
  /** More points than one page holds stand at one timestamp, so a query cannot go on behind it. */
  | 'page_full'
  /** The device was not handed the command. */
  | 'not_delivered'
  /** The device has answered a command with an error. */
  | 'command_failed'
  /** The device has not said in time how a command ended. */
  | 'no_outcome'
  /** It was asked of something that is closed. */
  | 'closed';

interface ErrorDetail extends ErrorOptions {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly errors?: readonly Flaw[] | undefined;
}

/** The only error of this library. Its message is a sentence for a person, and never has a key in it. */
export class HeadwaterError extends Error {
  override readonly name = 'HeadwaterError';
  /** The HTTP status; undefined where there was no answer. */
  declare readonly status: number | undefined;
  /** Finds the request in the log of the server. */
  declare readonly requestId: string | undefined;
  /** How long the server asks to be left alone. */
  declare readonly retryAfterMs: number | undefined;
  /** The first twenty things wrong with what was sent. */
  declare readonly errors: readonly Flaw[];

  constructor(
    message: string,
    readonly code: OwnCode | (string & {}),
    { status, requestId, retryAfterMs, errors = [], ...options }: ErrorDetail = {},
  ) {
    super(message, options);
    Object.assign(this, { status, requestId, retryAfterMs, errors });
  }
}

/** Something that was given cannot be right. The message says what to give instead. */
export const invalid = (message: string, options?: ErrorOptions): HeadwaterError =>
  new HeadwaterError(message, 'invalid_argument', options);

/** Any error as one of this library. */
export const known = (cause: unknown, message: string, code: string): HeadwaterError =>
  cause instanceof HeadwaterError ? cause : new HeadwaterError(message, code, { cause });
