import { once } from 'node:events';
import { causes, TelemetryError } from '#model';
import { exitCodes, Failure, inWords } from './failure.js';
import { harmless } from './text.js';

const eraseLine = '\r\u001b[K';
/** A command that ends sooner shows no progress. */
const quietMs = 2_000;
/** Time between two lines of progress where there is no terminal on which the next line could overwrite the last. */
const plainEveryMs = 10_000;

/** What a command says, and where: data to stdout, talk to stderr. */
export class Io {
  #interruption: AbortController | undefined;
  readonly #startMs = Date.now();
  #progressMs = 0;
  #progressShown = false;
  #doing: (() => string) | undefined;

  constructor() {
    process.stdout.on('error', endWithReader);
    process.stderr.on('error', goOnUnheard);
  }

  /** Writes what the user asked for; resolves when more may come. */
  async data(text: string): Promise<void> {
    this.#erase();
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  }

  /** Says something to the person, on a line of its own. Control characters in it, from a file or a server's answer, are replaced. */
  note(line: string): void {
    this.#erase();
    process.stderr.write(`${harmless(line)}\n`);
    this.#doing = undefined;
  }

  /**
   * Shows how far a long command is: on a terminal on one line that the next one overwrites, at most ten times a second; elsewhere as a line
   * of its own every ten seconds, once the command has taken two.
   */
  progress(line: () => string): void {
    this.#doing = line;
    this.#show(line, hasTerminal() ? 100 : plainEveryMs);
  }

  /** Waits for `work`. While it says nothing itself, this shows every so often that the command of this name is still running. */
  async during<T>(name: string, work: Promise<T>): Promise<T> {
    const timer = setInterval(() => {
      if (Date.now() >= this.#startMs + quietMs) this.#show(this.#doing ?? (() => name), hasTerminal() ? 1_000 : plainEveryMs);
    }, 500);
    try {
      return await work;
    } finally {
      clearInterval(timer);
      this.#erase();
    }
  }

  #show(line: () => string, everyMs: number): void {
    const nowMs = Date.now();
    const takenMs = nowMs - this.#startMs;
    if (nowMs < this.#progressMs + everyMs || (!hasTerminal() && takenMs < quietMs)) return;
    this.#progressMs = nowMs;
    const text = harmless(`${line()} (${Math.floor(takenMs / 1000)} s)`);
    this.#progressShown = hasTerminal();
    process.stderr.write(this.#progressShown ? eraseLine + text.slice(0, process.stderr.columns - 1) : `${text}\n`);
  }

  #erase(): void {
    if (this.#progressShown) process.stderr.write(eraseLine);
    this.#progressShown = false;
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

const hasTerminal = (): boolean => process.stderr.isTTY && process.env['TERM'] !== 'dumb';

function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.readerGone);
}

/** Nobody reads stderr any more, but the work of the command still counts. */
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
export function finish(io: Io, cause: unknown): void {
  const error = inWords(cause);
  if (error instanceof Failure) io.note(`headwater: ${error.message}`);
  else if (error instanceof TelemetryError) io.note(`headwater: ${told(error)}`);
  else io.note(`headwater: an error of the command itself, please report it: ${error instanceof Error ? error.stack : String(error)}`);
  process.exitCode = io.interruptionCode ?? exitCodeOf(error);
}

/** Most messages say what to do. For damage in files that the command itself has opened, the advice is added here. */
function told(error: TelemetryError): string {
  if (error.kind === 'internal') return `${error.message}. Restore the data folder from a copy.`;
  return error.retryable ? `${causes(error)}.` : error.message;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  return error instanceof TelemetryError && error.kind === 'invalid' ? exitCodes.usage : exitCodes.failed;
}
