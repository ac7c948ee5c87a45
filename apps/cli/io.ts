import { once } from 'node:events';
import { TelemetryError, errorCases } from '#model';
import { exitCodes, Failure } from './failure.js';

/** Control characters other than a newline. */
const steering = /[^\P{Cc}\n]/gu;
/** What others wrote, in a file, a record or a server's answer, without what steers a terminal. */
export const harmless = (text: string): string => text.replaceAll(steering, '?');

const eraseLine = '\r\u001b[K';

/** What a command says, and where: data to stdout, talk to stderr. */
export class Io {
  #interruption: AbortController | undefined;
  #progressMs = 0;
  #progressShown = false;

  constructor() {
    process.stdout.on('error', endWithReader);
    process.stderr.on('error', goOnUnheard);
  }

  /** Writes what the user asked for; resolves when more may come. */
  async data(text: string): Promise<void> {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  }

  /** Says something to the person, on a line of its own. What others wrote, in a file or a server's answer, cannot steer the terminal. */
  note(line: string): void {
    process.stderr.write(`${this.#progressShown ? eraseLine : ''}${harmless(line)}\n`);
    this.#progressShown = false;
  }

  /** Shows how far a long command is, on one line that the next one overwrites; only on a terminal, at most ten times a second. */
  progress(line: () => string): void {
    if (!process.stderr.isTTY || process.env['TERM'] === 'dumb' || Date.now() < this.#progressMs + 100) return;
    this.#progressMs = Date.now();
    this.#progressShown = true;
    process.stderr.write(eraseLine + line().slice(0, process.stderr.columns - 1));
  }

  /** Aborts at Ctrl-C or SIGTERM, which from the first call on no longer end the process by themselves. */
  get interrupted(): AbortSignal {
    this.#interruption ??= interruption();
    return this.#interruption.signal;
  }

  /** The exit code of an interrupted command, or undefined when nothing interrupted it. */
  get interruptionCode(): number | undefined {
    return this.#interruption?.signal.aborted ? (this.#interruption.signal.reason as Failure).exitCode : undefined;
  }
}

function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.readerGone);
}

/** Nobody reads what we say; what we do still counts. */
function goOnUnheard(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

function interruption(): AbortController {
  const controller = new AbortController();
  process.on('SIGINT', () => controller.abort(new Failure('Interrupted.', exitCodes.interrupted)));
  process.on('SIGTERM', () => controller.abort(new Failure('Terminated.', exitCodes.terminated)));
  return controller;
}

/** Says what ended a command and sets the exit code. */
export function finish(io: Io, error: unknown): void {
  if (error instanceof Failure) io.note(`headwater: ${error.message}`);
  else if (error instanceof TelemetryError) io.note(`headwater: ${told(error)}`);
  else io.note(`headwater: an error of the command itself, please report it: ${error instanceof Error ? error.stack : String(error)}`);
  process.exitCode = io.interruptionCode ?? exitCodeOf(error);
}

/** What the server would tell a client, but for what is wrong with the files that the command itself has opened. */
function told({ kind, code, message }: TelemetryError): string {
  return kind === 'internal' ? `${message}. Restore the data folder from a copy.` : `${message} ${errorCases[code].remedy}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  return error instanceof TelemetryError && error.kind === 'invalid' ? exitCodes.usage : exitCodes.failed;
}
