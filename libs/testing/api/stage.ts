import { expect, it } from '@jest/globals';
import type { People, Urls } from '../deployment.js';
import { eventually } from '../eventually.js';
import { ApiClient, type DeviceJson, type EntryJson, type KeyJson, type ProblemJson } from '../http/client.js';
import { patiently, send, type Answer, type Ask } from '../http/send.js';
import { Contract, type OpenApi } from './contract.js';
import { Visitor } from './visitor.js';
import { LiveContract, type AsyncApi } from './live-contract.js';

/** A running service to be asked. */
export interface Target {
  readonly urls: Urls;
  readonly keys: { readonly own: string; readonly other: string | undefined; readonly unpaid: string | undefined };
  /** Undefined where the rows about people do not run. */
  readonly people: People | undefined;
  close(): Promise<void>;
}

/** What the rows of the suite act on. Every name is new in each run, so that the suite can run against one server again and again. */
export class Stage {
  readonly run = `${Date.now().toString(36)}${Math.floor(Math.random() * 36 ** 4).toString(36)}`;
  readonly #target: Target;
  readonly #contract: Contract;
  readonly own: ApiClient;
  /** Owns the first organization; for rows about people. */
  readonly owner: Visitor;
  /** Owns the second organization. */
  readonly otherOwner: Visitor;
  /** Belongs to no organization. */
  readonly stranger: Visitor;
  readonly document: OpenApi;
  /** What the frames of all WebSockets of the suite are held against. */
  readonly live: LiveContract;

  private constructor(target: Target, document: OpenApi, live: AsyncApi) {
    this.#target = target;
    this.document = document;
    this.live = new LiveContract(live);
    this.#contract = new Contract(document);
    this.own = this.client(target.keys.own);
    const ask = (what: Ask): Promise<Answer> => this.bare(what, this.urls.app);
    this.owner = new Visitor(ask, target.people?.owner);
    this.otherOwner = new Visitor(ask, target.people?.otherOwner);
    this.stranger = new Visitor(ask, target.people?.stranger);
  }

  static async on(target: Target): Promise<Stage> {
    const [openApi, asyncApi] = await Promise.all(
      ['/openapi.json', '/asyncapi.json'].map(async (path) => {
        const answer = await send(target.urls.api, { path });
        expect([answer.status, answer.headers['content-type']]).toEqual([200, expect.stringMatching(/^application\/json/)]);
        return JSON.parse(answer.text) as unknown;
      }),
    );
    return new Stage(target, openApi as OpenApi, asyncApi as AsyncApi);
  }

  get urls(): Urls {
    return this.#target.urls;
  }

  /** A client of the second organization, for rows that run only where there is one. */
  get other(): ApiClient {
    return this.client(this.#target.keys.other!);
  }

  /** A client of the organization without a payment method, for rows that run only where there is one. */
  get unpaid(): ApiClient {
    return this.client(this.#target.keys.unpaid!);
  }

  /** Keys on this machine's own addresses may be tried from any of them; elsewhere everybody is one address. */
  get onLoopback(): boolean {
    return ['127.0.0.1', 'localhost'].includes(new URL(this.urls.api).hostname);
  }

  /** A source id that nobody used before. */
  id(name: string): string {
    return `${name}.${this.run}`;
  }

  client(key: string): ApiClient {
    return new ApiClient(
      () => this.urls,
      key,
      (base, ask) => this.bare(ask, base),
    );
  }

  /** Asks with exactly these headers. */
  async bare(ask: Ask, base = this.urls.api): Promise<Answer> {
    const answer = await patiently(() => send(base, ask));
    this.check(ask, answer);
    return answer;
  }

  check(ask: Ask, answer: Answer): void {
    expect(answer.headers['x-request-id']).toMatch(/^\S{8,64}$/);
    this.#contract.check(ask, answer);
  }

  /** A new key of the first organization, once every role has heard of it. */
  async newKey(scopes: readonly string[], owner = this.own, sources?: readonly string[]): Promise<KeyJson> {
    const answer = await owner.askApp({
      method: 'POST',
      path: '/api/api-keys',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: `test ${this.run}`, scopes, sources }),
    });
    expect(answer).toMatchObject({ status: 201 });
    const made = JSON.parse(answer.text) as KeyJson;
    const client = this.client(made.api_key);
    await known(async () => {
      const answers = [await client.ingest({}), await client.ask({ path: '/v1/sources' }), await client.askApp({ path: '/api/api-keys' })];
      for (const { status } of answers) expect(status).not.toBe(401);
    });
    return made;
  }

  /**
   * What the first organization reads, once `attempt` accepts it. The second one, where there is one, reads it too, and must get byte for
   * byte what it gets for a source that nobody has.
   *
   * @param path below `/v1/sources/<id>`, for example `/metrics`.
   */
  async reads<T>(sourceId: string, path: string, attempt: (json: T) => void): Promise<T> {
    const json = await this.finds(`/v1/sources/${sourceId}${path}`, attempt);
    await this.hides(sourceId, path);
    return json;
  }

  /** What the first organization reads at any path, once `attempt` accepts it: what was accepted is readable within seconds. */
  finds<T>(path: string, attempt: (json: T) => void): Promise<T> {
    return known(async () => {
      const answer = await this.own.json<T>(path);
      attempt(answer);
      return answer;
    });
  }

  /** To the second organization the first one's source is as one that nobody has. */
  async hides(sourceId: string, path: string): Promise<void> {
    if (this.#target.keys.other === undefined) return;
    const { other } = this;
    const nobodys = `n${this.run}${sourceId}`.slice(0, sourceId.length);
    const [hidden, unknown] = await Promise.all([sourceId, nobodys].map((id) => other.ask({ path: `/v1/sources/${id}${path}` })));
    expect(bytesOf(hidden!)).toEqual(bytesOf(unknown!));
  }

  /** Resolves when everything that was accepted before for this source can be read. Leaves a point and an event named `mark` behind. */
  async caughtUp(sourceId: string): Promise<void> {
    const value = Math.random();
    const mark = { source_id: sourceId, metric: 'mark', timestamp: Date.now() };
    await this.own.accepted({
      points: [
        { ...mark, value },
        { ...mark, value: String(value), class: 'event' },
      ],
    });
    await known(async () => {
      const { metrics } = await this.own.json<{ metrics: Record<string, number> }>(`/v1/sources/${sourceId}/metrics/latest`);
      const [entry] = await this.own.json<EntryJson[]>(`/v1/sources/${sourceId}/logs?tail=1&name=mark`);
      const device = await this.own.json<DeviceJson>(`/v1/sources/${sourceId}`);
      expect([metrics['mark'], entry?.value, device.source_id]).toEqual([value, String(value), sourceId]);
    });
  }
}

/** As `eventually`, but twice in a row: of two replicas that are asked in turn, the one may know what the other does not know yet. */
export function known<T>(attempt: () => Promise<T>): Promise<T> {
  return eventually(async () => {
    await attempt();
    return attempt();
  });
}

/** One part of the contract; the stage is there once its rows run. */
export type Section = (stage: () => Stage) => void;

/** Rows that need what a deployment may not have: without it, they are named at the end of the run as not run. */
export const itIf = (there: boolean): typeof it => (there ? it : (it.skip as typeof it));

/** Rows that need a key which the environment has to give when it gives the deployment. */
export const itWith = (variable: 'OTHER_API_KEY' | 'UNPAID_API_KEY'): typeof it =>
  itIf(process.env['API_URL'] === undefined || process.env[variable] !== undefined);

/** So soon after its deletion was answered a key works nowhere. */
export const maxRevokeMs = 10_000;

/** Whether there are people who can sign in: only where the suite has made the deployment. */
export const hasPeople = process.env['API_URL'] === undefined;

/** Rows that need them. */
export const itPeople = itIf(hasPeople);

/** All of an answer but what differs between two equal questions. */
export function bytesOf({ status, headers, text }: Answer): unknown {
  const { date: _date, 'x-request-id': requestId, ...rest } = headers;
  return { status, headers: rest, text: requestId ? text.replaceAll(requestId, '') : text };
}

/** The problem that an answer is, once its shape is checked. */
export function problem(answer: Answer, status: number, code?: string): ProblemJson {
  const shown = `${answer.status} ${answer.text.slice(0, 500)}`;
  expect([shown, answer.status]).toEqual([shown, status]);
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  const json = JSON.parse(answer.text) as ProblemJson;
  expect(json).toMatchObject({
    type: expect.stringMatching(/^(https?:\/\/|\/|about:|urn:)/),
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S.*[.]$/s),
    code: code ?? expect.stringMatching(/^[a-z][a-z0-9_]*$/),
    error: json.detail,
    request_id: answer.headers['x-request-id'],
  });
  expect(answer.text).not.toMatch(/\bat \S+ \(|node:internal|\bSELECT\b|\bINSERT\b|hw_[0-9A-Za-z]{38}/);
  return json;
}
