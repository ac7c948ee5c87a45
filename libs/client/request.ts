import { type Flaw, HeadwaterError } from './error.js';
import { linked } from './linked.js';

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
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** For the whole answer. */
  readonly timeoutMs?: number;
}

const patienceMs = 60_000;

/** The JSON of a 2xx, or undefined for a 204. Follows no redirect. Rejects `HeadwaterError`, or the reason of `signal`. */
export async function request(server: Server, path: string, exchange: Exchange = {}): Promise<unknown> {
  const { method = 'GET', body, headers, signal, timeoutMs = patienceMs } = exchange;
  const limit = linked(signal);
  const timer = setTimeout(
    () => limit.abort(new HeadwaterError(silence(server, `nothing for ${timeoutMs / 1000} s`), 'timeout')),
    timeoutMs,
  );
  try {
    const sent = { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers };
    const response = await ask(server, path, { method, headers: sent, ...(body !== undefined && { body }), signal: limit.signal });
    return decoded(server, response.status, await response.text());
  } catch (cause) {
    throw mapped(server, cause, limit.signal);
  } finally {
    clearTimeout(timer);
    limit.release();
  }
}

/** A 2xx whose body goes on until `signal` ends it. Rejects `HeadwaterError`, or the reason of `signal`. */
export async function open(
  server: Server,
  path: string,
  { headers, signal }: Pick<Exchange, 'headers' | 'signal'> = {},
): Promise<Response> {
  try {
    return await ask(server, path, { headers: { ...headers }, ...(signal && { signal }) });
  } catch (cause) {
    throw mapped(server, cause, signal);
  }
}

/** What made reading a body fail, as the errors of this library say it. */
export function mapped(server: Server, cause: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  return cause instanceof HeadwaterError ? cause : new HeadwaterError(silence(server, reason(cause)), 'no_answer', { cause });
}

async function ask({ url, apiKey, fetch = globalThis.fetch }: Server, path: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), ...(apiKey !== undefined && { 'x-api-key': apiKey }) };
  const response = await fetch(url + path, { ...init, headers, redirect: 'manual' });
  if (response.ok) return response;
  throw refusal(url, response, await response.text());
}

function decoded({ url }: Server, status: number, text: string): unknown {
  try {
    return status === 204 ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new HeadwaterError(`${url} does not answer in JSON: is it the address of a Headwater server?`, 'not_headwater', {
      status,
      cause,
    });
  }
}

function refusal(url: string, response: Response, text: string): HeadwaterError {
  const to = response.headers.get('location') ?? (response.type === 'opaqueredirect' ? 'another address' : null);
  if (to) return new HeadwaterError(`${url} redirects to ${to}: use that address.`, 'not_headwater', { status: response.status });
  const { status } = response;
  const said = problem(text);
  const errors = Array.isArray(said.errors) ? said.errors : [];
  const requestId = said.request_id ?? response.headers.get('x-request-id') ?? undefined;
  const retryAfterMs = waitMs(response.headers.get('retry-after'));
  return new HeadwaterError(sentence(status, said, errors), said.code ?? 'not_headwater', { status, requestId, retryAfterMs, errors });
}

interface Problem {
  readonly detail?: string;
  readonly error?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly errors?: readonly Flaw[];
}

function problem(text: string): Problem {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found ? found : {};
  } catch {
    return {};
  }
}

function sentence(status: number, { detail, error, request_id: requestId }: Problem, errors: readonly Flaw[]): string {
  const said = detail ?? error ?? 'It did not say why: is this the address of a Headwater server?';
  const flaws = errors.slice(0, 5).map((flaw) => `\n  ${flaw.pointer}: ${flaw.detail}`);
  return `The server answered ${status}: ${said}${requestId ? ` (request ${requestId})` : ''}${flaws.join('')}`;
}

/** Milliseconds that a Retry-After header asks for, as seconds or as a date. */
function waitMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const silence = ({ url }: Server, why: string): string => `No answer from ${url} (${why}).`;

function reason(error: unknown): string {
  const { message, cause } = error as { readonly message?: string; readonly cause?: { readonly code?: string; readonly message?: string } };
  return cause?.code ?? cause?.message ?? message ?? 'unknown';
}
