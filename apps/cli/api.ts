import type { Connection } from './connection.js';
import { Failure } from './failure.js';

const patienceMs = 60_000;

interface Problem {
  readonly detail?: string;
  readonly error?: string;
  readonly request_id?: string;
  readonly errors?: { readonly pointer: string; readonly detail: string }[];
}

/** A server that gave no answer, or one that is not 2xx. */
export class ApiFailure extends Failure {
  override readonly name = 'ApiFailure';

  constructor(
    message: string,
    /** Undefined when there was no answer. */
    readonly status: number | undefined,
    readonly retryAfterMs: number | undefined,
    options?: ErrorOptions,
  ) {
    super(message, undefined, options);
  }
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The HTTP API of a server, as any client sees it. */
export class Api {
  /** @param connection without a key for what needs none. */
  constructor(private readonly connection: Pick<Connection, 'url'> & Partial<Connection>) {}

  /** The JSON of a 2xx, or undefined for a 204. Rejects `ApiFailure`, or the reason of `signal`. */
  async request(path: string, { method = 'GET', body, headers, signal }: ApiRequest = {}): Promise<unknown> {
    const { response, text } = await this.#exchange(path, {
      method,
      redirect: 'manual',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers, ...this.#credential },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([AbortSignal.timeout(patienceMs), ...(signal ? [signal] : [])]),
    });
    if (!response.ok) throw this.#refusal(response, text);
    try {
      return response.status === 204 ? undefined : JSON.parse(text);
    } catch (cause) {
      throw new Failure(`${this.connection.url} does not answer in JSON: is it the address of a Headwater server?`, undefined, { cause });
    }
  }

  /** A 2xx whose body goes on until `signal` ends it. Rejects `ApiFailure`, or the reason of `signal`. */
  async open(path: string, { headers, signal }: Pick<ApiRequest, 'headers'> & { readonly signal: AbortSignal }): Promise<Response> {
    const init = { headers: { ...headers, ...this.#credential }, redirect: 'manual', signal } as const;
    const response = await fetch(this.connection.url + path, init).catch((cause: unknown) => this.#silence(cause));
    if (!response.ok) throw this.#refusal(response, await response.text());
    return response;
  }

  get #credential(): Readonly<Record<string, string>> {
    const { apiKey } = this.connection;
    return apiKey === undefined ? {} : { 'x-api-key': apiKey };
  }

  async #exchange(path: string, init: RequestInit): Promise<{ response: Response; text: string }> {
    try {
      const response = await fetch(this.connection.url + path, init);
      return { response, text: await response.text() };
    } catch (cause) {
      return this.#silence(cause);
    }
  }

  #silence(cause: unknown): never {
    if (cause instanceof Failure) throw cause;
    throw new ApiFailure(
      `No answer from ${this.connection.url} (${reason(cause)}). Is the server running? \`headwater serve\` starts one; --url names another.`,
      undefined,
      undefined,
      { cause },
    );
  }

  #refusal(response: Response, text: string): ApiFailure {
    const to = response.headers.get('location');
    const message = to ? `${this.connection.url} redirects to ${to}: use that address.` : sentence(response.status, problem(text));
    return new ApiFailure(message, response.status, waitMs(response.headers.get('retry-after')));
  }
}

function problem(text: string): Problem {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found ? found : {};
  } catch {
    return {};
  }
}

function sentence(status: number, { detail, error, errors, request_id: requestId }: Problem): string {
  const said = detail ?? error ?? 'It did not say why: is this the address of a Headwater server?';
  const hint = status === 401 ? ' Check HEADWATER_API_KEY, or store another key with `headwater init`.' : '';
  const flaws = (Array.isArray(errors) ? errors.slice(0, 5) : []).map((flaw) => `\n  ${flaw.pointer}: ${flaw.detail}`);
  return `The server answered ${status}: ${said}${hint}${requestId ? ` (request ${requestId})` : ''}${flaws.join('')}`;
}

/** Milliseconds that a Retry-After header asks for, as seconds or as a date. */
function waitMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'TimeoutError') return `nothing for ${patienceMs / 1000} s`;
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}
