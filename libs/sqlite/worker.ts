import { basename } from 'node:path';
import { type MessagePort, parentPort, Worker, type TransferListItem } from 'node:worker_threads';
import { causes, TelemetryError, type ErrorCode } from '#model';

interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly message: string; readonly code?: ErrorCode; readonly why?: string; readonly stack?: string };

/** Objects in these threads are short-lived: most of the 48 MB that Node gives each thread would stay unused. */
const maxYoungGenerationSizeMb = 12;

/** A result that moves array buffers to the caller instead of copying them. */
export class Transferred {
  constructor(
    readonly result: unknown,
    readonly transfer: readonly TransferListItem[],
  ) {}
}

/** A thread that answers calls one after the other, in the order in which they came. */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<never>>();
  readonly #lost: ErrorCode;
  #nextId = 1;
  #ended: Error | undefined;
  #endedMs: number | undefined;
  /** Not 0 once the thread is to answer no more calls. */
  readonly #halt = new Int32Array(new SharedArrayBuffer(4));

  /**
   * Starts the thread. It needs about a tenth of a second to load its code; calls that are made before wait for it.
   * @param lost the error code for calls that the thread can no longer answer.
   */
  constructor(file: URL, lost: ErrorCode) {
    this.#lost = lost;
    // Operators see the name in `top -H`.
    const name = basename(file.pathname, '.worker.js');
    this.#worker = new Worker(file, { name, resourceLimits: { maxYoungGenerationSizeMb } });
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error('the thread has ended')));
    this.#worker.postMessage(this.#halt, []);
  }

  /** Makes the first call, `open`, with what the thread needs to know. When that call rejects, the thread has been ended. */
  async open<T>(argument: unknown): Promise<T> {
    try {
      return await this.call<T>('open', argument);
    } catch (cause) {
      await this.terminate();
      throw cause;
    }
  }

  /** Rejects with the error that the handler threw, or with the `lost` code when the thread has ended. */
  call<T>(name: string, argument?: unknown, transfer: readonly TransferListItem[] = []): Promise<T> {
    if (this.#ended) return Promise.reject(this.#loss(this.#ended));
    const id = this.#nextId++;
    const waiting = Promise.withResolvers<never>();
    this.#waiting.set(id, waiting);
    this.#worker.postMessage({ id, name, argument } satisfies Call, [...transfer]);
    return waiting.promise;
  }

  /** Why the thread ended, in one line; undefined while it lives. */
  get ended(): string | undefined {
    return this.#ended && causes(this.#ended);
  }

  /** When the thread ended, on the monotonic clock; undefined while it lives. */
  get endedMs(): number | undefined {
    return this.#endedMs;
  }

  /**
   * Ends the thread after the call that it is answering, as a crash between two transactions would; calls that wait reject. It is not ended within a
   * call, because Node aborts the whole process when a thread ends within zstd.
   */
  async terminate(): Promise<void> {
    Atomics.store(this.#halt, 0, 1);
    await this.call('halt').catch(() => undefined);
    await this.#worker.terminate();
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('result' in reply) waiting?.resolve(reply.result as never);
    else {
      const why = reply.why === undefined ? {} : { cause: new Error(reply.why) };
      const cause = Object.assign(new Error(reply.message, why), { stack: reply.stack });
      waiting?.reject(reply.code ? new TelemetryError(reply.code, reply.message, { cause }) : cause);
    }
  }

  #end(cause: Error): void {
    this.#ended ??= cause;
    this.#endedMs ??= performance.now();
    for (const waiting of this.#waiting.values()) waiting.reject(this.#loss(this.#ended));
    this.#waiting.clear();
  }

  #loss(cause: Error): TelemetryError {
    return new TelemetryError(this.#lost, 'the storage thread has ended', { cause });
  }
}

/** The calls that a thread answers, by name. A handler returns its result, or `Transferred` buffers. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

/** Answers the calls of the `WorkerThread` that started this file. */
export function serve(handlers: Handlers): void {
  const port = parentPort!;
  let halt: Int32Array | undefined;
  port.on('message', (message: Call | Int32Array) => {
    if (message instanceof Int32Array) halt = message;
    else if (message.name === 'halt') port.postMessage({ id: message.id, result: undefined } satisfies Reply);
    else if (!halt || Atomics.load(halt, 0) === 0) answer(port, handlers, message);
  });
}

function answer(port: MessagePort, handlers: Handlers, { id, name, argument }: Call): void {
  try {
    const result = handlers[name]!(argument as never);
    if (result instanceof Transferred) port.postMessage({ id, result: result.result } satisfies Reply, [...result.transfer]);
    else port.postMessage({ id, result } satisfies Reply);
  } catch (cause) {
    const error = cause as Error;
    const code = error instanceof TelemetryError ? { code: error.code } : {};
    const why = error.cause === undefined ? {} : { why: causes(error.cause) };
    port.postMessage({ id, message: error.message, ...code, ...why, ...(error.stack && { stack: error.stack }) } satisfies Reply);
  }
}
