import type { HeadwaterError } from '../error.js';
import { type Exchange, request } from '../request.js';
import { mayPass, pauseMs } from '../retry.js';
import { type FindServer, keptServer, type Where } from '../settings.js';
import { monotonicMs, pause } from '../waiting.js';

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

/** The HTTP API of one server, as all readers share it. */
export type Access = ReturnType<typeof accessTo>;

export function accessTo(options: ReaderOptions, find: FindServer) {
  const { patienceMs = 20_000, onRetry } = options;
  // Found at the first use, so that making a reader neither waits nor fails.
  const { server } = keptServer(options, find);

  /** Waits before another try. Rejects with what went wrong where none can help, or none would be in time. */
  async function wait(error: unknown, tries: number, endMs: number, signal: AbortSignal | undefined): Promise<void> {
    const waitMs = pauseMs(error, tries);
    if (!mayPass(error) || monotonicMs() + waitMs > endMs) throw error;
    onRetry?.(error as HeadwaterError, waitMs);
    await pause(waitMs, signal);
  }

  /** Asks for what changes nothing when it is asked for twice, and again where that may help. Rejects `HeadwaterError`, or the reason of the signal. */
  async function repeat(path: string, exchange: Exchange): Promise<unknown> {
    const endMs = monotonicMs() + patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        return await request(await server(), path, exchange);
      } catch (error) {
        await wait(error, tries, endMs, exchange.signal);
      }
    }
  }

  return {
    patienceMs,
    server,
    wait,
    repeat,

    /** Reads, and again where that may help. Rejects as `repeat`. */
    get: async <T>(path: string, parameters: Parameters = {}, { signal }: Asked = {}): Promise<T> =>
      (await repeat(path + queryOf(parameters), { signal })) as T,

    /** Asks for a change, once: whoever asks again may change something twice. Rejects as `repeat`. */
    send: async <T>(method: string, path: string, body?: unknown, { signal }: Asked = {}): Promise<T> =>
      (await request(await server(), path, { method, ...(body !== undefined && { body: JSON.stringify(body) }), signal })) as T,
  };
}

/** What stands behind a path; parameters that are undefined are left out. */
export function queryOf(parameters: Parameters): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')}`;
}
