import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** A body of rows on its way to QuestDB. */
export interface Sent {
  /** Since the recording began. */
  readonly afterMs: number;
  readonly path: string;
  readonly body: Buffer<ArrayBuffer>;
}

/** Stands between the processors and QuestDB, and keeps the bodies that are accepted. */
export class Recorder {
  readonly #server: Server;
  #sent: Sent[] = [];
  #beganMs = 0;

  private constructor(private readonly target: string) {
    // A connection that is closed as a body arrives fails the body, which the processors then send again. QuestDB keeps idle connections longer than Node does.
    this.#server = createServer({ keepAliveTimeout: 0 }, (incoming, answer) => {
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
  }

  async #pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const sent = { afterMs: performance.now() - this.#beganMs, path: incoming.url!, body };
    const { status, text } = await post(this.target, sent);
    if (status < 300) this.#sent.push(sent);
    answer.writeHead(status).end(text);
  }
}

/** Sends the bodies again, each at its time and after the one before. */
export async function replay(sent: readonly Sent[], url: string): Promise<void> {
  const beganMs = performance.now();
  for (const body of sent) {
    await pause(Math.max(0, beganMs + body.afterMs - performance.now()));
    const { status, text } = await post(url, body);
    if (status >= 300) throw new Error(`QuestDB refuses what it took before: ${text}`);
  }
}

async function post(url: string, { path, body }: Sent): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body });
  return { status: answer.status, text: await answer.text() };
}
