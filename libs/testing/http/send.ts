import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { patienceMs } from '../eventually.js';

/** A request as it goes over the wire: nothing in `path` is normalized, a header with two values is sent twice. */
export interface Ask {
  readonly method?: string;
  /** From the first slash on, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array | undefined;
  /** Local address to call from, for example `127.0.0.7`. */
  readonly from?: string | undefined;
}

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  /** Names in lower case; values of a name that came twice are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const agents = {
  'http:': { request: httpRequest, agent: new HttpAgent({ keepAlive: true }) },
  'https:': { request: httpsRequest, agent: new HttpsAgent({ keepAlive: true }) },
};

/**
 * Rejects when no whole answer came. What only reads is asked again when the server has just closed the connection that was kept for the
 * next request, as any client must.
 */
export async function send(base: string, ask: Ask): Promise<Answer> {
  const { outgoing, answer } = begin(base, ask);
  try {
    return await answer;
  } catch (error) {
    const isLate = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    if (isLate && outgoing.method === 'GET') return begin(base, ask).answer;
    throw error;
  }
}

/** Asks again for a while when the answer is 503 and says when, as any client must. */
export async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  for (const endMs = performance.now() + patienceMs; ;) {
    const answer = await ask();
    const againS = Number(answer.headers['retry-after']);
    if (answer.status !== 503 || !againS || performance.now() > endMs) return answer;
    await pause(1000 * againS);
  }
}

function begin(base: string, ask: Ask): { readonly outgoing: ClientRequest; readonly answer: Promise<Answer> } {
  const url = new URL(base);
  const { request, agent } = agents[url.protocol as keyof typeof agents];
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const body = ask.body === undefined ? undefined : Buffer.from(ask.body);
  const outgoing = request(
    {
      agent: ask.from === undefined ? agent : false,
      host: url.hostname,
      port: url.port,
      method: ask.method ?? 'GET',
      path: ask.path,
      headers: { ...(body && { 'content-length': String(body.length) }), ...mutable(ask.headers) },
      ...(ask.from !== undefined && { localAddress: ask.from }),
    },
    resolve,
  );
  outgoing.on('error', reject);
  outgoing.end(body);
  return { outgoing, answer: promise.then(whole) };
}

async function whole(incoming: IncomingMessage): Promise<Answer> {
  return { status: incoming.statusCode!, headers: joined(incoming), text: (await buffer(incoming)).toString() };
}

const mutable = (headers: Ask['headers'] = {}): Record<string, string | string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]));

const joined = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]));
