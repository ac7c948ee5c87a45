import { HeadwaterError, invalid } from '../error.js';
import { monotonicMs, timer } from '../waiting.js';

export interface CommandContext {
  readonly id: string;
  /** Tells how far the command is: a share from 0 to 1, or any JSON. */
  readonly progress: (how: unknown) => void;
  /** Aborted when the command is too late or the device is closed. Whatever the handler does after that is not reported. */
  readonly signal: AbortSignal;
  /** When the command is too late. */
  readonly deadline: Date;
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

/** A frame of the server. */
export interface Heard {
  readonly type?: string;
  readonly seq?: number;
  readonly id?: string;
  readonly run_id?: string;
  readonly command?: string;
  readonly params?: unknown;
  readonly ttl_ms?: number;
}

/** Sends a frame; does nothing while there is no connection. */
export type Say = (frame: Frame) => void;

/** A command that has come. */
interface Run {
  readonly id: string;

  readonly end: AbortController;
  seq: number;
  state: string;
  /** Reports that the server has not acknowledged, by their number; without the progress that newer progress has overtaken. */
  readonly pending: Map<number, Frame>;
}

/** Carries out the commands that a server sends, each once, and reports how it went until the server knows. */
export interface Commands {
  /** For the server, which is told them once for each connection: from then on there are no new ones. */
  names(): string[];
  /** @throws HeadwaterError `invalid_argument` */
  handle(name: string, handler: CommandHandler, options: HandlerOptions): void;
  /** Takes a frame, if it is one about commands. */
  readonly hear: (frame: Heard) => void;
  /** To be called on each new connection: tells the server the state of each command that is not over, and repeats results that it has not acknowledged. */
  opened(): void;
  /** Resolves when the server knows everything, as far as it says so. */
  acknowledged(): Promise<void>;
  /** Ends the commands that are under way. */
  close(): void;
}

/** The server keeps no more names of one device. */
const maxNames = 256;
/** Commands that are under way at a time. */
const maxRuns = 1024;
/** Commands that have ended and are remembered, so that one that comes twice is done once. */
const maxEnded = 256;
const maxResultChars = 64 * 1024;
const progressEveryMs = 100;

export function commandsOver(say: Say): Commands {
  const handlers = new Map<string, { readonly handler: CommandHandler; readonly parallel: boolean }>();
  const runs = new Map<string, Run>();
  /** The last command of each name whose commands wait for each other. */
  const last = new Map<string, Promise<void>>();
  let areTold = false;
  let waiting: (() => void)[] = [];

  const allRuns = (): Run[] => [...runs.values()];
  const repeat = ({ pending }: Run): void => {
    for (const frame of pending.values()) say(frame);
  };

  function begin(id: string, name: string, params: unknown, ttlMs: number): void {
    const known = runs.get(id);
    if (known) return repeat(known);
    const ended = allRuns().filter(hasEnded);
    for (const old of ended.slice(0, Math.max(0, ended.length - maxEnded))) runs.delete(old.id);
    const end = new AbortController();
    const run = { id, end, seq: 0, state: '', pending: new Map() };
    runs.set(id, run);
    const { handler, parallel } = handlers.get(name) ?? {};
    if (!handler) return failed(run, unknown, unknownText(name));
    if (runs.size > maxRuns) return failed(run, 'busy', `This device has ${maxRuns} commands to do already.`);
    report(run, 'acknowledged');
    const deadline = new Date(Date.now() + ttlMs);
    const limit = timer(ttlMs, () => stop(run, 'too_late', `The command was not done within ${ttlMs} ms.`));
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
  async function perform(run: Run, handler: CommandHandler, params: Fields, deadline: Date): Promise<void> {
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
      failed(run, typeof code === 'string' ? code : 'failed', String(message ?? error));
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
    const frame = { type: 'command_status', run_id: run.id, seq, state, ...more };
    run.state = state;
    if (isUnderWay(state)) for (const [at, older] of pending) if (isUnderWay(older['state'])) pending.delete(at);
    pending.set(seq, frame);
    say(frame);
  }

  function tellAcknowledged(): void {
    if (allRuns().some(({ pending }) => pending.size > 0)) return;
    for (const resolve of waiting.splice(0)) resolve();
  }

  return {
    names() {
      areTold = true;
      return [...handlers.keys()];
    },
    handle(name, handler, { parallel = false }) {
      const isNew = !handlers.has(name);
      if (isNew && (areTold || handlers.size >= maxNames))
        throw invalid(`Give a device the command ${name} before it connects, and at most ${maxNames} commands.`);
      handlers.set(name, { handler, parallel });
    },
    hear({ type, id, run_id: runId, command, params, ttl_ms: ttlMs, seq }) {
      // The server was told which commands the device has: it sends them as `command_run`, and all others so.
      if (type === 'typed_command')
        say({ type: 'command_result', id, command, event: 'error', error: `${unknown}: ${unknownText(command)}` });
      else if (type === 'command_run') begin(runId!, command!, params, ttlMs!);
      else if (type === 'command_status_ack') {
        runs.get(runId!)?.pending.delete(seq!);
        tellAcknowledged();
      }
    },
    opened() {
      const open = allRuns().filter((run) => !hasEnded(run) || run.pending.size > 0);
      const known = open.map(({ id, state, seq }) => ({ run_id: id, state, seq }));
      if (known.length > 0) say({ type: 'command_sync', runs: known.slice(0, maxRuns) });
      for (const run of open) repeat(run);
    },
    acknowledged: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        tellAcknowledged();
      }),
    close() {
      for (const run of allRuns()) stop(run, 'closed', 'The device was closed.');
    },
  };
}

const hasEnded = ({ state }: Run): boolean => state === 'succeeded' || state === 'failed';
const isUnderWay = (state: unknown): boolean => state === 'running' || state === 'progress';

const unknown = 'unknown_command';
const unknownText = (name: unknown): string => `This device has no command ${JSON.stringify(name)}.`;
