import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pause } from './server-process.js';

/** A body of rows on its way to QuestDB. */
export interface Sent {
  /** Since the recording began. */
  readonly afterMs: number;
  readonly path: string;
  readonly body: Buffer;
}

/** Stands between the processors and QuestDB, and keeps the bodies that are accepted. */
export class Recorder {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server: Server;
  #sent: Sent[] = [];
  #beganMs = 0;

  private constructor(private readonly target: string) {
    this.#server = createServer((incoming, answer) => {
      this.#pass(incoming, answer).catch((error: Error) => answer.writeHead(502).end(error.message));
    });
  }

  static async before(target: string): Promise<Recorder> {
    const recorder = new Recorder(target);
    await once(recorder.#server.listen(0, '127.0.0.1'), 'listening');
    return recorder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  begin(): void {
    this.#sent = [];
    this.#beganMs = performance.now();
  }

  /** What was accepted since the beginning, in order. */
  get sent(): readonly Sent[] {
    return this.#sent;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const sent = { afterMs: performance.now() - this.#beganMs, path: incoming.url!, body };
    const { status, text } = await post(this.target, sent, this.#agent);
    if (status < 300) this.#sent.push(sent);
    answer.writeHead(status).end(text);
  }
}

/** Sends the bodies again, each at its time and after the one before. */
export async function replay(sent: readonly Sent[], url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const beganMs = performance.now();
  for (const body of sent) {
    await pause(Math.max(0, beganMs + body.afterMs - performance.now()));
    const { status, text } = await post(url, body, agent);
    if (status >= 300) throw new Error(`QuestDB refuses what it took before: ${text.toString()}`);
  }
  agent.destroy();
}

async function post(url: string, { path, body }: Sent, agent: Agent): Promise<{ readonly status: number; readonly text: Buffer }> {
  const sending = request(url + path, { method: 'POST', agent, headers: { 'content-type': 'text/plain', 'content-length': body.length } });
  sending.end(body);
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, text: await buffer(answer) };
}
