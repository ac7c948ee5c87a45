import { HeadwaterError, invalid } from '../error.js';
import { monotonicMs, timer } from '../waiting.js';

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

type Fields = Readonly<Record<string, unknown>>;

/** A frame to the server. */
export type Frame = Fields & { readonly type: string };

/** Sends a frame; does nothing while there is no connection. */
export type Say = (frame: Frame) => void;

/** A command that has come. */
interface Run {
  readonly id: string;
  readonly name: string;
  /** It came as `typed_command`, whose reports are not acknowledged. */
  readonly isTyped: boolean;
  readonly end: AbortController;
  seq: number;
  state: string;
  /** Reports that the server has not acknowledged, by their number; without the progress that newer progress has overtaken. */
  readonly pending: Map<number, Frame>;
  saidMs: number;
}

/** Carries out the commands that a server sends, each once, and reports how it went until the server knows. */
export interface Commands {
  names(): string[];
  /** @throws HeadwaterError `invalid_argument` */
  handle(name: string, handler: CommandHandler, options: HandlerOptions): void;
  /** Takes a frame, if it is one about commands. */
  readonly hear: (frame: Fields) => void;
  /** To be called on each new connection: tells the server the state of each command that is not over, and repeats results that it has not acknowledged. */
  opened(): void;
  /** The connection has ended. */
  lost(): void;
  /** Resolves when the server knows everything, as far as it says so. */
  acknowledged(): Promise<void>;
  /** Ends the commands that are under way. */
  close(): void;
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

export function commandsOver(say: Say): Commands {
  const handlers = new Map<string, { readonly handler: CommandHandler; readonly parallel: boolean }>();
  const runs = new Map<string, Run>();
  /** The last command of each name whose commands wait for each other. */
  const last = new Map<string, Promise<void>>();
  let waiting: (() => void)[] = [];

  const allRuns = (): Run[] => [...runs.values()];
  const repeat = ({ pending }: Run): void => {
    for (const frame of pending.values()) say(frame);
  };

  function begin(id: string, name: string, params: unknown, ttlMs?: number): void {
    const known = runs.get(id);
    if (known) return repeat(known);
    const ended = allRuns().filter(hasEnded);
    for (const old of ended.slice(0, Math.max(0, ended.length - maxEnded))) runs.delete(old.id);
    const end = new AbortController();
    const run = { id, name, isTyped: ttlMs === undefined, end, seq: 0, state: '', pending: new Map(), saidMs: 0 };
    runs.set(id, run);
    const { handler, parallel } = handlers.get(name) ?? {};
    if (!handler) return failed(run, 'unknown_command', `This device has no command ${JSON.stringify(name)}.`);
    if (runs.size > maxRuns) return failed(run, 'busy', `This device has ${maxRuns} commands to do already.`);
    report(run, 'acknowledged');
    const deadline = ttlMs === undefined ? undefined : new Date(Date.now() + ttlMs);
    const limit = deadline && timer(ttlMs!, () => stop(run, 'too_late', `The command was not done within ${ttlMs} ms.`));
    const key = parallel ? id : name;
    const done = Promise.resolve(last.get(key))
      .then(() => perform(run, handler, Object(params) as Fields, deadline))
      .finally(() => {
        clearTimeout(limit);
        if (last.get(key) === done) last.delete(key);
      });
    last.set(key, done);
  }

  /** Never rejects. */
  async function perform(run: Run, handler: CommandHandler, params: Fields, deadline: Date | undefined): Promise<void> {
    if (hasEnded(run)) return;
    report(run, 'running');
    let saidMs = -Infinity;
    const progress = (how: unknown): void => {
      const nowMs = monotonicMs();
      if (nowMs - saidMs < progressEveryMs) return;
      saidMs = nowMs;
      report(run, 'progress', { progress: how });
    };
    try {
      const result = await handler(params, { id: run.id, progress, signal: run.end.signal, deadline });
      const text = JSON.stringify(result) ?? 'null';
      if (text.length > maxResultChars) failed(run, 'result_too_large', `The result has ${text.length} characters of JSON.`);
      else report(run, 'succeeded', { result: JSON.parse(text) as unknown });
    } catch (error) {
      const { code, message } = Object(error) as Fields;
      failed(run, typeof code === 'string' ? code : 'failed', typeof message === 'string' ? message : String(error));
    }
  }

  /** Ends a command that is under way, and tells its handler. */
  function stop(run: Run, code: string, message: string): void {
    if (hasEnded(run)) return;
    failed(run, code, message);
    run.end.abort(new HeadwaterError(message, code));
  }

  const failed = (run: Run, code: string, message: string): void => report(run, 'failed', { error_code: code, error_message: message });

  function report(run: Run, state: string, more: Fields = {}): void {
    if (hasEnded(run)) return;
    const { pending } = run;
    const seq = ++run.seq;
    const frame = run.isTyped ? typedFrame(run, state, more) : { type: 'command_status', run_id: run.id, seq, state, ...more };
    run.state = state;
    if (!frame) return;
    if (isUnderWay(state)) for (const [at, older] of pending) if (isUnderWay(older['state'])) pending.delete(at);
    pending.set(seq, frame);
    run.saidMs = monotonicMs();
    say(frame);
  }

  function tellAcknowledged(): void {
    if (allRuns().some(({ isTyped, pending }) => !isTyped && pending.size > 0)) return;
    for (const resolve of waiting.splice(0)) resolve();
  }

  return {
    names: () => [...handlers.keys()],
    handle(name, handler, { parallel = false }) {
      if (typeof name !== 'string' || name === '' || name.length > maxNameChars)
        throw invalid(`Give a command a name of 1 to ${maxNameChars} characters.`);
      if (typeof handler !== 'function') throw invalid(`Give the command ${name} a function.`);
      handlers.set(name, { handler, parallel });
    },
    hear({ type, id, run_id: runId, command, params, ttl_ms: ttlMs, seq }) {
      if (type === 'typed_command') begin(String(id), String(command), params);
      else if (type === 'command_run') begin(String(runId), String(command), params, Number(ttlMs));
      else if (type === 'command_status_ack') {
        runs.get(String(runId))?.pending.delete(Number(seq));
        tellAcknowledged();
      }
    },
    opened() {
      const open = allRuns().filter((run) => !hasEnded(run) || run.pending.size > 0);
      const known = open.filter(({ isTyped }) => !isTyped).map(({ id, state, seq }) => ({ run_id: id, state, seq }));
      if (known.length > 0) say({ type: 'command_sync', runs: known.slice(0, maxRuns) });
      for (const run of open) repeat(run);
    },
    lost() {
      const nowMs = monotonicMs();
      for (const { isTyped, saidMs, pending } of allRuns()) if (isTyped && nowMs - saidMs > settledMs) pending.clear();
    },
    acknowledged: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        tellAcknowledged();
      }),
    close() {
      for (const run of allRuns()) stop(run, 'closed', 'The device was closed before the command was done.');
    },
  };
}

const hasEnded = ({ state }: Run): boolean => state === 'succeeded' || state === 'failed';
const isUnderWay = (state: unknown): boolean => state === 'running' || state === 'progress';

function typedFrame({ id, name }: Run, state: string, { result, error_code: code, error_message: message }: Fields): Frame | undefined {
  const head = { type: 'command_result', id, command: name };
  if (state === 'acknowledged') return { ...head, event: 'ack' };
  if (state === 'succeeded') return { ...head, event: 'result', result };
  return state === 'failed' ? { ...head, event: 'error', error: `${String(code)}: ${String(message)}` } : undefined;
}
