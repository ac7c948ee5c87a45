import type { HeadwaterError } from '../error.js';
import { type Exchange, open, request, type Server } from '../request.js';
import { mayPass, pause, pauseMs } from '../retry.js';
import { findServer, type ReadStored, type Where } from '../settings.js';

export interface ReaderOptions extends Where {
  /** How long what may be asked again is, while the server is busy or away: 20 seconds unless it is given. */
  readonly patienceMs?: number;
  /** Is told before each wait. What it throws ends the waiting. */
  readonly onRetry?: (error: HeadwaterError, waitMs: number) => void;
}

export interface Asked {
  readonly signal?: AbortSignal | undefined;
}

export type Parameters = Readonly<Record<string, string | number | undefined>>;

const usualPatienceMs = 20_000;

/** The HTTP API of one server, as all readers share it. */
export class Access {
  readonly patienceMs: number;
  #server: Promise<Server> | undefined;

  constructor(
    private readonly options: ReaderOptions,
    private readonly read: ReadStored,
  ) {
    this.patienceMs = options.patienceMs ?? usualPatienceMs;
  }

  /** Reads, and again where that may help. Rejects `HeadwaterError`, or the reason of `signal`. */
  async get<T>(path: string, parameters: Parameters = {}, { signal }: Asked = {}): Promise<T> {
    return (await this.repeat(path + queryOf(parameters), { signal })) as T;
  }

  /** Asks for what changes nothing when it is asked for twice, and again where that may help. Rejects as `get`. */
  async repeat(path: string, exchange: Exchange): Promise<unknown> {
    const endMs = performance.now() + this.patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        return await request(await this.server(), path, exchange);
      } catch (error) {
        await this.wait(error, tries, endMs, exchange.signal);
      }
    }
  }

  /** Asks for a change, once: whoever asks again may change something twice. Rejects as `get`. */
  async send<T>(method: string, path: string, body?: unknown, { signal }: Asked = {}): Promise<T> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await request(await this.server(), path, { method, ...text, signal })) as T;
  }

  /** A body that goes on. Rejects as `get`, after one try. */
  async open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return open(await this.server(), path, { headers, signal });
  }

  /** Waits before another try. Rejects with what went wrong where none can help, or none would be in time. */
  async wait(error: unknown, tries: number, endMs: number, signal: AbortSignal | undefined): Promise<void> {
    const waitMs = pauseMs(error, tries);
    if (!mayPass(error) || performance.now() + waitMs > endMs) throw error;
    this.options.onRetry?.(error as HeadwaterError, waitMs);
    await pause(waitMs, signal);
  }

  /** Found at the first use, so that making a reader neither waits nor fails. */
  server(): Promise<Server> {
    this.#server ??= findServer(this.options, this.read).catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return this.#server;
  }
}

/** What stands behind a path; parameters that are undefined are left out. */
export function queryOf(parameters: Parameters): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')}`;
}
