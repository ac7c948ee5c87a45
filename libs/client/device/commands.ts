import { HeadwaterError } from '../error.js';
import { timer } from './bell.js';
import { invalid } from './point.js';

export interface CommandContext {
  readonly id: string;
  /** Tells how far the command is: a share from 0 to 1, or any JSON. */
  progress(how: unknown): void;
  /** Aborted when the command is too late or the device is closed. Whatever the handler does after that is not reported. */
  readonly signal: AbortSignal;
  /** When the command is too late; undefined when it never is. */
  readonly deadline: Date | undefined;
}

/** Carries a command out. What it returns is the result, what it throws is reported as the error. */
export type CommandHandler = (params: Readonly<Record<string, unknown>>, context: CommandContext) => unknown;

export interface HandlerOptions {
  /** Commands of this name do not wait for each other. */
  readonly parallel?: boolean;
}

/** A frame to the server. */
export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** Sends a frame; does nothing while there is no connection. */
export type Say = (frame: Frame) => void;

interface Handler extends HandlerOptions {
  readonly run: CommandHandler;
}

/** A command that has come. */
interface Run {
  readonly id: string;
  readonly name: string;
  /** It came as `typed_command`, whose reports are not acknowledged. */
  readonly isTyped: boolean;
  readonly end: AbortController;
  seq: number;
  state: string;
  hasEnded: boolean;
  /** By their number; without the progress that newer progress has overtaken. */
  readonly unacknowledged: Map<number, Frame>;
  saidMs: number;
}

interface Outcome {
  readonly result?: unknown;
  readonly code?: string;
  readonly message?: string;
}

const maxNameChars = 128;
/** Commands that are under way at a time. */
const maxRuns = 1024;
/** Commands that have ended and are remembered, so that one that comes twice is done once. */
const maxEnded = 256;
const maxResultChars = 64 * 1024;
const progressEveryMs = 100;
/** A report that nobody acknowledges is sent again when its connection ends so soon after. */
const settledMs = 30_000;

/** Carries out the commands that a server sends, each once, and reports how it went until the server knows. */
export class Commands {
  readonly #handlers = new Map<string, Handler>();
  readonly #runs = new Map<string, Run>();
  /** The last command of each name whose commands wait for each other. */
  readonly #last = new Map<string, Promise<void>>();
  #waiting: (() => void)[] = [];

  constructor(private readonly say: Say) {}

  get names(): string[] {
    return [...this.#handlers.keys()];
  }

  /** @throws HeadwaterError `invalid_argument` */
  handle(name: string, run: CommandHandler, { parallel = false }: HandlerOptions = {}): void {
    if (typeof name !== 'string' || name === '' || name.length > maxNameChars)
      throw invalid(`Give a command a name of 1 to ${maxNameChars} characters.`);
    if (typeof run !== 'function') throw invalid(`Give the command ${name} a function.`);
    this.#handlers.set(name, { run, parallel });
  }

  /** Whether the frame was one about commands. */
  hear(frame: Readonly<Record<string, unknown>>): boolean {
    const { type, id, run_id: runId, command, params, ttl_ms: ttlMs, seq } = frame;
    if (type === 'typed_command') this.#begin(String(id), String(command), params, undefined);
    else if (type === 'command_run') this.#begin(String(runId), String(command), params, Number(ttlMs));
    else if (type === 'command_status_ack') this.#acknowledged(String(runId), Number(seq));
    else return false;
    return true;
  }

  /** To be called on each new connection: tells the server the state of each command that is not over, and repeats results that it has not acknowledged. */
  opened(): void {
    const runs = [...this.#runs.values()].filter(({ hasEnded, unacknowledged }) => !hasEnded || unacknowledged.size > 0);
    const known = runs.filter(({ isTyped }) => !isTyped).map(({ id, state, seq }) => ({ run_id: id, state, seq }));
    if (known.length > 0) this.say({ type: 'command_sync', runs: known.slice(0, maxRuns) });
    for (const { unacknowledged } of runs) for (const frame of unacknowledged.values()) this.say(frame);
  }

  /** The connection has ended. */
  lost(): void {
    const nowMs = performance.now();
    for (const { isTyped, saidMs, unacknowledged } of this.#runs.values())
      if (isTyped && nowMs - saidMs > settledMs) unacknowledged.clear();
  }

  /** Resolves when the server knows everything, as far as it says so. */
  acknowledged(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#tell();
    return promise;
  }

  /** Ends the commands that are under way. */
  close(): void {
    for (const run of this.#runs.values()) {
      if (run.hasEnded) continue;
      run.end.abort(new HeadwaterError('The device was closed.', 'closed'));
      this.#ended(run, { code: 'closed', message: 'The device was closed before the command was done.' });
    }
  }

  #acknowledged(id: string, seq: number): void {
    this.#runs.get(id)?.unacknowledged.delete(seq);
    this.#tell();
  }

  #tell(): void {
    if ([...this.#runs.values()].some(({ isTyped, unacknowledged }) => !isTyped && unacknowledged.size > 0)) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #begin(id: string, name: string, params: unknown, ttlMs: number | undefined): void {
    const known = this.#runs.get(id);
    if (known) {
      for (const frame of known.unacknowledged.values()) this.say(frame);
      return;
    }
    this.#forget();
    const isTyped = ttlMs === undefined;
    const run: Run = {
      id,
      name,
      isTyped,
      end: new AbortController(),
      seq: 0,
      state: '',
      hasEnded: false,
      unacknowledged: new Map(),
      saidMs: 0,
    };
    const handler = this.#handlers.get(name);
    this.#runs.set(id, run);
    if (!handler) return this.#ended(run, { code: 'unknown_command', message: `This device has no command ${JSON.stringify(name)}.` });
    if (this.#runs.size > maxRuns) return this.#ended(run, { code: 'busy', message: `This device has ${maxRuns} commands to do already.` });
    this.#report(run, 'acknowledged', {});
    const key = handler.parallel ? id : name;
    const done = (this.#last.get(key) ?? Promise.resolve()).then(() => this.#perform(run, handler, params, dueAt));
    const dueAt = ttlMs === undefined ? undefined : new Date(Date.now() + ttlMs);
    const late = (): void => {
      run.end.abort(new HeadwaterError('The command is too late.', 'too_late'));
      this.#ended(run, { code: 'too_late', message: `The command was not done within ${ttlMs} ms.` });
    };
    const limit = ttlMs === undefined ? undefined : timer(ttlMs, late);
    const cleared = done.finally(() => {
      clearTimeout(limit);
      if (this.#last.get(key) === cleared) this.#last.delete(key);
    });
    this.#last.set(key, cleared);
  }

  /** Never rejects. */
  async #perform(run: Run, handler: Handler, params: unknown, deadline: Date | undefined): Promise<void> {
    if (run.hasEnded || run.end.signal.aborted) return;
    this.#report(run, 'running', {});
    let saidMs = -Infinity;
    const progress = (how: unknown): void => {
      const nowMs = performance.now();
      if (run.hasEnded || nowMs - saidMs < progressEveryMs) return;
      saidMs = nowMs;
      this.#report(run, 'progress', { progress: how });
    };
    try {
      const given = typeof params === 'object' && params !== null ? (params as Record<string, unknown>) : {};
      const result = await handler.run(given, { id: run.id, progress, signal: run.end.signal, deadline });
      const text = JSON.stringify(result) ?? 'null';
      if (text.length > maxResultChars)
        this.#ended(run, { code: 'result_too_large', message: `The result has ${text.length} characters of JSON.` });
      else this.#ended(run, { result: JSON.parse(text) as unknown });
    } catch (error) {
      const { code, message } = (typeof error === 'object' && error ? error : { message: String(error) }) as Partial<
        Record<string, unknown>
      >;
      this.#ended(run, {
        code: typeof code === 'string' ? code : 'failed',
        message: typeof message === 'string' ? message : String(error),
      });
    }
  }

  #ended(run: Run, { result, code, message }: Outcome): void {
    if (run.hasEnded) return;
    if (code === undefined) this.#report(run, 'succeeded', { result });
    else this.#report(run, 'failed', { error_code: code, error_message: message });
    run.hasEnded = true;
  }

  #report(run: Run, state: string, more: Readonly<Record<string, unknown>>): void {
    if (run.hasEnded) return;
    run.state = state;
    run.seq++;
    const frame = run.isTyped ? typedFrame(run, state, more) : { type: 'command_status', run_id: run.id, seq: run.seq, state, ...more };
    if (!frame) return;
    if (['running', 'progress'].includes(state))
      for (const [seq, older] of run.unacknowledged)
        if (['running', 'progress'].includes(String(older['state']))) run.unacknowledged.delete(seq);
    run.unacknowledged.set(run.seq, frame);
    run.saidMs = performance.now();
    this.say(frame);
  }

  /** Forgets the oldest of many that have ended. */
  #forget(): void {
    const ended = [...this.#runs.values()].filter(({ hasEnded }) => hasEnded);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#runs.delete(id);
  }
}

function typedFrame({ id, name }: Run, state: string, more: Readonly<Record<string, unknown>>): Frame | undefined {
  const head = { type: 'command_result', id, command: name };
  if (state === 'acknowledged') return { ...head, event: 'ack' };
  if (state === 'succeeded') return { ...head, event: 'result', result: more['result'] };
  return state === 'failed'
    ? { ...head, event: 'error', error: `${String(more['error_code'])}: ${String(more['error_message'])}` }
    : undefined;
}
