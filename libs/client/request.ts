import { type Flaw, HeadwaterError, known } from './error.js';
import { onAbort, within } from './waiting.js';

/** Where requests go. */
export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  /** Undefined for what needs none. */
  readonly apiKey: string | undefined;
  readonly fetch?: typeof fetch | undefined;
}

export interface Exchange {
  readonly method?: string;
  /** JSON, as text or as the bytes of a gzip. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
  /** For the whole answer. */
  readonly timeoutMs?: number;
}

/** The JSON of a 2xx, or undefined for a 204. Follows no redirect. Rejects `HeadwaterError`, or the reason of `signal`. */
export async function request(server: Server, path: string, exchange: Exchange = {}): Promise<unknown> {
  const { method = 'GET', body = null, signal, timeoutMs = 60_000 } = exchange;
  const headers = {
    ...(body !== null && { 'content-type': 'application/json' }),
    ...(body instanceof Uint8Array && { 'content-encoding': 'gzip' }),
  };
  const call = callTo(server, timeoutMs, signal);
  try {
    return await call.heard(call.open(path, { method, headers, body }).then(decoded(server)));
  } catch (error) {
    throw call.failure(error);
  } finally {
    call.release();
  }
}

/** A request that ends with its signal, or when nothing is heard for too long. */
export interface Call {
  /** A 2xx whose body may go on. */
  open(path: string, init: RequestInit): Promise<Response>;
  /** Waits for something that the server does. */
  heard<T>(answer: Promise<T>): Promise<T>;
  /** What has gone wrong, as `HeadwaterError` or the reason of the signal. */
  failure(error: unknown): unknown;
  readonly signal: AbortSignal;
  abort(): void;
  /** Lets go of the signal that it was given. */
  release(): void;
}

export function callTo(server: Server, patienceMs: number, outer: AbortSignal | undefined): Call {
  const { url, apiKey, fetch = globalThis.fetch } = server;
  const ours = new AbortController();
  const { signal } = ours;
  const abort = (reason?: Error): void => ours.abort(reason);
  const silent = (why: string): string => `No answer from ${url} (${why}).`;
  return {
    signal,
    abort,
    release: onAbort(outer, abort),
    async open(path, init) {
      const headers = { ...(init.headers as Record<string, string>), ...(apiKey !== undefined && { 'x-api-key': apiKey }) };
      const response = await fetch(url + path, { ...init, headers, signal, redirect: 'manual' });
      if (response.ok) return response;
      throw refusal(url, response, await response.text());
    },
    heard: (answer) => within(patienceMs, answer, () => abort(new HeadwaterError(silent(`nothing for ${patienceMs / 1000} s`), 'timeout'))),
    failure(error) {
      if (signal.aborted) return signal.reason;
      const { message, cause } = error as {
        readonly message?: string;
        readonly cause?: { readonly code?: string; readonly message?: string };
      };
      return known(error, silent(cause?.code ?? cause?.message ?? message ?? 'unknown'), 'no_answer');
    },
  };
}

const decoded =
  ({ url }: Server) =>
  async (response: Response): Promise<unknown> => {
    const { status } = response;
    const text = await response.text();
    try {
      return status === 204 ? undefined : JSON.parse(text);
    } catch (cause) {
      throw new HeadwaterError(`${url} does not answer in JSON: ${doubt}`, 'not_headwater', { status, cause });
    }
  };

const doubt = 'is it the address of a Headwater server?';

interface Problem {
  readonly detail?: string;
  readonly error?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly errors?: readonly Flaw[];
}

function refusal(url: string, { status, headers }: Response, text: string): HeadwaterError {
  const to = headers.get('location');
  if (to) return new HeadwaterError(`${url} redirects to ${to}: use that address.`, 'not_headwater', { status });
  const { detail, error, code = 'not_headwater', request_id: requestId, ...said } = objectIn(text) as Problem;
  const errors = Array.isArray(said.errors) ? (said.errors as readonly Flaw[]) : [];
  const flaws = errors.slice(0, 5).map((flaw) => `\n  ${flaw.pointer}: ${flaw.detail}`);
  const id = requestId ? ` (request ${requestId})` : '';
  const sentence = `The server answered ${status}: ${detail ?? error ?? `It did not say why: ${doubt}`}${id}${flaws.join('')}`;
  return new HeadwaterError(sentence, code, { status, requestId, retryAfterMs: waitMs(headers.get('retry-after')), errors });
}

/** The object that JSON holds; an empty one for anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Milliseconds that a Retry-After header asks for, as seconds or as a date. */
function waitMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
