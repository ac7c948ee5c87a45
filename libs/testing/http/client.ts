import { gzipSync } from 'node:zlib';
import type { Urls } from '../deployment.js';
import { patiently, send, type Answer, type Ask } from './send.js';

/** The shapes of the API's JSON as a client declares them. */
export interface QueryJson {
  readonly interval: string;
  readonly auto_downsampled: boolean;
  readonly series: Readonly<Record<string, ColumnsJson>>;
  readonly truncated: boolean;
}
export interface ColumnsJson {
  readonly timestamp_ms: readonly number[];
  readonly value?: readonly number[];
  readonly min?: readonly number[];
  readonly max?: readonly number[];
  readonly avg?: readonly number[];
  readonly count?: readonly number[];
}
export interface FleetJson {
  readonly metric: string;
  readonly interval: string;
  readonly sources_online: number;
  readonly sources_w_metric: number;
  readonly sources: readonly (ColumnsJson & { readonly source_id: string; readonly online: boolean })[];
  readonly truncated: boolean;
}
export interface EntryJson {
  readonly timestamp_ms: number;
  readonly metric: string;
  readonly value: string;
  readonly tags: Readonly<Record<string, string>>;
}
export interface DeviceJson {
  readonly source_id: string;
  readonly online: boolean;
  readonly last_seen_ms: number | null;
}
export interface KeyJson {
  readonly id: string;
  readonly api_key: string;
}
export interface ProblemJson {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly error: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
}

/** A query string, every value percent-encoded; undefined ones are left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')}`;
}

/** The value of `metrics=` for names that may hold commas themselves. */
export const metricList = (names: readonly string[]): string =>
  encodeURIComponent(names.map((name) => name.replaceAll(',', '\\,')).join(','));

/** A client of one organization. */
export class ApiClient {
  constructor(
    private readonly urls: () => Urls,
    readonly key: string,
    private readonly exchange: typeof send = send,
  ) {}

  /** Asks the data API. */
  ask(ask: Ask): Promise<Answer> {
    return this.#send(this.urls().api, ask);
  }

  /** Asks the application host. */
  askApp(ask: Ask): Promise<Answer> {
    return this.#send(this.urls().app, ask);
  }

  /** Asks the ingest gateway. */
  askIngest(ask: Ask): Promise<Answer> {
    return this.#send(this.urls().ingest, ask);
  }

  /** Sends a body as JSON, a string as it is. */
  ingest(body: unknown, headers: Ask['headers'] = {}): Promise<Answer> {
    const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    return this.askIngest({ method: 'POST', path: '/ingest', headers: { 'content-type': 'application/json', ...headers }, body: text });
  }

  ingestGzip(body: unknown): Promise<Answer> {
    return this.ingest(gzipSync(JSON.stringify(body)), { 'content-encoding': 'gzip' });
  }

  /** The JSON of a 200; a 503 is asked again for a while, when it says so. @throws Error on any other status. */
  async json<T>(path: string): Promise<T> {
    const { status, text } = await patiently(() => this.ask({ path }));
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text.slice(0, 400)}`);
    return JSON.parse(text) as T;
  }

  /** Resolves when the body was accepted. @throws Error on any other status. */
  async accepted(body: unknown): Promise<void> {
    const answer = await this.ingest(body);
    if (answer.status !== 200) throw new Error(`POST /ingest answered ${answer.status}: ${answer.text.slice(0, 400)}`);
  }

  #send(base: string, ask: Ask): Promise<Answer> {
    return this.exchange(base, { ...ask, headers: { 'x-api-key': this.key, ...ask.headers } });
  }
}
