import { once } from 'node:events';
import { request, type Agent, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { TelemetryError } from '#model';
import { agentFor, authorizationOf, type Credentials, type TlsOptions } from '#sockets';
import { logUnavailable, reasonOf } from '../trouble.js';

export interface RegistryAddress extends Credentials {
  /** Base of the Confluent-compatible API, such as `http://127.0.0.1:8081`. */
  readonly url: string;
  /** For a URL that begins with `https:`. */
  readonly tls?: TlsOptions;
}

interface Refusal {
  readonly error_code?: number;
  readonly message?: string;
}

const answerMs = 5_000;
const pauseMs = 1_000;
const noSuchSchema = 40403;
/** Nobody is let in without a name, or with this one. */
const refused: readonly number[] = [401, 403];

/** An answer of the registry that another attempt would get again. */
export class RegistryRefusal extends Error {
  constructor(
    readonly status: number,
    /** What the registry itself says; undefined when something before it has answered. */
    readonly code: number | undefined,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The Confluent-compatible API of a schema registry, as far as we need it. Rejects `log_unavailable` when the registry does not answer; it is
 * asked one thing a second then.
 */
export class RegistryApi {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent: Agent;
  readonly #circuit = new Circuit();

  constructor(private readonly address: RegistryAddress) {
    this.#headers = { 'content-type': 'application/vnd.schemaregistry.v1+json', ...authorizationOf(address) };
    this.#agent = agentFor(address.url, address.tls);
  }

  async setCompatibility(subject: string, level: string): Promise<void> {
    await twiceOnConflict(() => this.#call('PUT', `/config/${encodeURIComponent(subject)}`, { compatibility: level }));
  }

  /** Resolves when the registry has answered, if only to refuse. */
  async ask(): Promise<void> {
    try {
      await this.#call('GET', '/config');
    } catch (error) {
      if (!(error instanceof RegistryRefusal)) throw error;
    }
  }

  /** The id of the schema, made at the first call. */
  async register(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    return (await twiceOnConflict(() => this.#call<{ id: number }>('POST', path, { schema }))).id;
  }

  /** The text of a schema; undefined when there is none with this id. */
  async schema(id: number): Promise<string | undefined> {
    try {
      const { schema } = await this.#call<{ schema?: string }>('GET', `/schemas/ids/${id}`);
      if (typeof schema !== 'string') throw logUnavailable('The schema registry answers without a schema.');
      return schema;
    } catch (error) {
      if (error instanceof RegistryRefusal && error.code === noSuchSchema) return undefined;
      throw error;
    }
  }

  #call<T extends object>(method: string, path: string, body?: object): Promise<T> {
    return this.#circuit.ask(() => this.#callOnce<T>(method, path, body));
  }

  async #callOnce<T extends object>(method: string, path: string, body?: object): Promise<T> {
    let status: number;
    let answer: T & Refusal;
    try {
      const response = await this.#response(method, path, body && JSON.stringify(body));
      status = response.statusCode!;
      const said = await text(response);
      // What stands before a registry may refuse us in words of its own.
      answer = (refused.includes(status) ? {} : (JSON.parse(said) ?? {})) as T & Refusal;
    } catch (cause) {
      throw logUnavailable(`The schema registry does not answer: ${reasonOf(cause)}.`, cause);
    }
    if (status >= 200 && status < 300) return answer;
    if (refused.includes(status)) throw logUnavailable(credentialsRefused(status));
    const said = answer.message ?? `it answers ${status}`;
    if (status >= 500 || status === 429) throw logUnavailable(`The schema registry is in trouble: ${said}.`);
    throw new RegistryRefusal(status, answer.error_code, `the schema registry refuses ${method} ${path}: ${said}`);
  }

  async #response(method: string, path: string, body = ''): Promise<IncomingMessage> {
    const url = this.address.url.replace(/\/$/, '') + path;
    const headers = { ...this.#headers, 'content-length': Buffer.byteLength(body) };
    const asking = request(url, { method, headers, agent: this.#agent, signal: AbortSignal.timeout(answerMs) });
    // It may also fail after its answer has begun, of which the reader of the answer is told.
    asking.on('error', () => undefined).end(body);
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    return response;
  }
}

/** Somebody may mend it at the registry, so it is asked again. */
const credentialsRefused = (status: number): string =>
  `The schema registry refuses us (${status}): check HEADWATER_REGISTRY_USERNAME and HEADWATER_REGISTRY_PASSWORD, or HEADWATER_REGISTRY_TOKEN.`;

/** A registry may refuse one of two processes that make the same thing at the same time; the second attempt finds it there. */
async function twiceOnConflict<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof RegistryRefusal && error.status === 409) return call();
    throw error;
  }
}

/** A circuit breaker: while nothing answers, one question at a time is let through, a second after the last failure. Others are refused at once. */
class Circuit {
  #failure: TelemetryError | undefined;
  #againMs = 0;

  /** Rejects as the question does, or as the last one that was not answered did. A refusal is an answer. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    if (this.#failure && performance.now() < this.#againMs) throw this.#failure;
    // All other questions are refused until this one is answered.
    if (this.#failure) this.#againMs = Infinity;
    try {
      const answer = await question();
      this.#failure = undefined;
      return answer;
    } catch (error) {
      this.#failure = error instanceof TelemetryError && error.retryable ? error : undefined;
      this.#againMs = performance.now() + pauseMs;
      throw error;
    }
  }
}
