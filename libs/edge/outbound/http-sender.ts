import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { Webhook } from 'standardwebhooks';
import type { HttpMessage } from '#model';
import { guarded, isLiteral, permitted, type Resolve } from './guard.js';
import type { Networks } from './networks.js';

/** What is read of an answer; the rest is left where it is. */
const maxAnswerBytes = 4096;
const maxAnswerHeaderBytes = 16_384;
const maxRedirects = 3;

/** What a server has answered. */
export interface HttpAnswer {
  readonly status: number;
  /** The beginning of the body. */
  readonly text: string;
  readonly retryAfter: string | undefined;
  /** Why a redirect was not followed; undefined where there was none. */
  readonly refused: string | undefined;
}

/** Posts to addresses that people have given us, and not further than they may send us. */
export class HttpSender {
  constructor(
    private readonly networks: Networks,
    private readonly resolve: Resolve,
    private readonly clock: () => number,
  ) {}

  /** Rejects NotAllowed, and when there is no answer. @param signal ends the attempt. */
  async post(id: string, message: HttpMessage, signal: AbortSignal): Promise<HttpAnswer> {
    let url = new URL(message.url);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#request(url, id, message, signal);
      const status = response.statusCode!;
      const { location, 'retry-after': retryAfter } = response.headers;
      const text = await beginningOf(response);
      const next = [307, 308].includes(status) && location !== undefined ? URL.parse(location, url.href) : null;
      const refused = next ? whyNot(url, next, redirects) : undefined;
      if (!next || refused) return { status, text, retryAfter, refused };
      url = next;
    }
  }

  async #request(url: URL, id: string, { body, secrets }: HttpMessage, signal: AbortSignal): Promise<IncomingMessage> {
    // For a host that is an address itself, a socket looks nothing up.
    if (isLiteral(url.hostname)) await permitted(this.networks, this.resolve, url.hostname);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const signed = secrets.length > 0 ? this.#signed(id, body, secrets) : {};
    const headers = { 'content-type': 'application/json', 'user-agent': 'Headwater', ...signed };
    const options = { method: 'POST', headers, signal, agent: false, maxHeaderSize: maxAnswerHeaderBytes } as const;
    const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
    const request = send(url, { ...options, lookup: guarded(this.networks, this.resolve) }, resolve);
    // Node closes a request without an error when the server answers 101 Switching Protocols.
    request.once('close', () => reject(new Error('The server has closed the connection without an answer.')));
    request.once('error', reject).end(body);
    return promise;
  }

  /** As Standard Webhooks say: whoever knows one of the secrets finds its signature. */
  #signed(id: string, body: string, secrets: readonly string[]): Readonly<Record<string, string>> {
    const now = new Date(this.clock());
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
    };
  }
}

/** Another host gets nothing that was meant for this one: the alert, and a signature that is good for five minutes. */
function whyNot(from: URL, to: URL, redirects: number): string | undefined {
  if (redirects === maxRedirects) return `It redirects more than ${maxRedirects} times.`;
  if (to.hostname !== from.hostname) return 'It redirects to another host: set the URL to where it shall go.';
  return from.protocol === 'https:' && to.protocol !== 'https:' ? 'It redirects to a connection that is not encrypted.' : undefined;
}

/** Whatever goes wrong with a body does not change what the status has said. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxAnswerBytes) break;
    }
  } catch {
    // What has come is enough.
  }
  response.destroy();
  return Buffer.concat(chunks).toString('utf8', 0, maxAnswerBytes);
}
