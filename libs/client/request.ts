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
  const limit = new AbortController();
  const release = onAbort(signal, (reason) => limit.abort(reason));
  const late = (): void => limit.abort(new HeadwaterError(silence(server, `nothing for ${timeoutMs / 1000} s`), 'timeout'));
  try {
    return await within(timeoutMs, open(server, path, { method, headers, body, signal: limit.signal }).then(decoded(server)), late);
  } catch (cause) {
    throw mapped(server, cause, limit.signal);
  } finally {
    release();
  }
}

/** A 2xx whose body may go on. Rejects `HeadwaterError` when the server refuses, and otherwise as `fetch` does: `mapped` knows what that says. */
export async function open({ url, apiKey, fetch = globalThis.fetch }: Server, path: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), ...(apiKey !== undefined && { 'x-api-key': apiKey }) };
  const response = await fetch(url + path, { ...init, headers, redirect: 'manual' });
  if (response.ok) return response;
  throw refusal(url, response, await response.text());
}

/** What made a request or the reading of its answer fail, as the errors of this library say it. */
export function mapped(server: Server, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const { message, cause } = error as { readonly message?: string; readonly cause?: { readonly code?: string; readonly message?: string } };
  return known(error, silence(server, cause?.code ?? cause?.message ?? message ?? 'unknown'), 'no_answer');
}

const silence = ({ url }: Server, why: string): string => `No answer from ${url} (${why}).`;

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

function refusal(url: string, { status, headers, type }: Response, text: string): HeadwaterError {
  const to = headers.get('location') ?? (type === 'opaqueredirect' ? 'another address' : null);
  if (to) return new HeadwaterError(`${url} redirects to ${to}: use that address.`, 'not_headwater', { status });
  const { detail, error, code = 'not_headwater', ...said } = objectIn(text) as Problem;
  const requestId = said.request_id ?? headers.get('x-request-id') ?? undefined;
  const errors = Array.isArray(said.errors) ? (said.errors as readonly Flaw[]) : [];
  const flaws = errors.slice(0, 5).map((flaw) => `\n  ${flaw.pointer}: ${flaw.detail}`);
  const id = said.request_id ? ` (request ${said.request_id})` : '';
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
