import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Lease } from '#model';
import { NotAccepted, type LineSink } from './line-sink.js';

/** What an operator is told of: an answer that takes longer. */
const slowMs = 5000;
/** After this a request is given up: what was not delivered of it is thrown away. */
const lostMs = 60_000;

/** Line protocol over HTTP, on one connection that is kept. */
export class HttpSink implements LineSink {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #turn: Promise<unknown> = Promise.resolve();
  #sentMs: number | undefined;
  #closed = false;

  /** @param url base address of the server. */
  constructor(url: string) {
    this.#url = new URL('/write?precision=ms', url);
  }

  /** Whether an answer has been awaited for too long. */
  get slow(): boolean {
    return this.#sentMs !== undefined && performance.now() - this.#sentMs > slowMs;
  }

  send(body: Uint8Array, lease: Lease): Promise<void> {
    const sent = this.#turn.then(() => this.#send(body, lease));
    this.#turn = sent.catch(() => undefined);
    return sent;
  }

  /** Cuts the connection; what is under way has an unknown outcome. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
  }

  async #send(body: Uint8Array, lease: Lease): Promise<void> {
    if (this.#closed) throw new NotAccepted('none', 'the connection is closed');
    if (!lease.held()) throw new NotAccepted('none', 'the lease is lost');
    this.#sentMs = performance.now();
    try {
      await this.#exchange(body);
    } finally {
      this.#sentMs = undefined;
    }
  }

  async #exchange(body: Uint8Array): Promise<void> {
    const headers = { 'content-type': 'text/plain', 'content-length': body.byteLength };
    const sending = request(this.#url, { method: 'POST', agent: this.#agent, headers });
    // A request may also fail after its answer has begun, of which the answer is told too.
    sending.on('error', () => undefined);
    const connection = watch(sending);
    const lost = setTimeout(() => connection.socket?.resetAndDestroy(), lostMs);
    try {
      sending.end(body);
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      if (answer.statusCode !== 204) throw new NotAccepted('none', `QuestDB answers ${answer.statusCode}: ${await text(answer)}`);
      answer.resume();
    } catch (cause) {
      // Also after a refusal: it may have come while the body was being sent, the rest of which nobody reads.
      await connection.ended();
      if (cause instanceof NotAccepted) throw cause;
      throw new NotAccepted(connection.connected ? 'unknown' : 'none', `no answer from QuestDB: ${(cause as Error).message}`, { cause });
    } finally {
      clearTimeout(lost);
    }
  }
}

/** What becomes of the connection that a request gets. */
interface Connection {
  socket: Socket | undefined;
  /** Whether bytes may have left. */
  connected: boolean;
  /** Resolves when nothing of the request is under way any more. */
  ended(): Promise<void>;
}

function watch(sending: ClientRequest): Connection {
  const connection: Connection = {
    socket: undefined,
    connected: false,
    ended: async () => {
      const { socket } = connection;
      if (!socket || socket.closed) return;
      socket.destroy();
      await once(socket, 'close');
    },
  };
  sending.once('socket', (socket) => {
    connection.socket = socket;
    if (socket.connecting) socket.once('connect', () => (connection.connected = true));
    else connection.connected = true;
  });
  return connection;
}

async function text(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString().slice(0, 500);
}
