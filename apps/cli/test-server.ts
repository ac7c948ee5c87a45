import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly apiKey: string | undefined;
  /** The JSON of the body, inflated. */
  readonly body: unknown;
  /** Bytes of the body after inflating. */
  readonly bodyBytes: number;
}

export interface Answer {
  readonly status: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Cuts the connection instead of answering. */
  readonly cut?: true;
}

/** A server for tests that keeps what it is asked and answers as it is told. */
export class TestServer implements AsyncDisposable {
  readonly seen: Seen[] = [];
  url = '';
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor(private readonly answer: (seen: Seen, count: number) => Answer | Promise<Answer>) {}

  /** @param answer is given each request and how many came before it. */
  static async start(answer: (seen: Seen, before: number) => Answer | Promise<Answer>): Promise<TestServer> {
    const server = new TestServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    server.url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`;
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = Buffer.concat(await request.toArray());
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const seen: Seen = {
      method: request.method!,
      path: request.url!,
      apiKey: request.headers['x-api-key'] as string | undefined,
      body: bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined,
      bodyBytes: bytes.length,
    };
    this.seen.push(seen);
    const { status, json, headers, cut } = await this.answer(seen, this.seen.length - 1);
    if (cut) return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(json === undefined ? undefined : JSON.stringify(json));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** What a server answers to a request that a `TestServer` has seen. */
export async function handOn(url: string, { method, path, apiKey, body }: Seen): Promise<Answer> {
  const headers = { 'x-api-key': apiKey!, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return { status: answer.status, json: await answer.json() };
}
