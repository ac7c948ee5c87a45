import { once } from 'node:events';
import { request, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { during, type Lease, oneAtATime } from '#model';
import { agentFor, authorizationOf, onceOpen, resetSocket } from '#sockets';
import { credentialsRefused, type HttpAccess } from './access.js';
import { NotAccepted, Refused, type LineSink } from './delivery.js';

/** An answer that takes longer is reported to the operator. */
const slowMs = 5000;
/** After this an attempt to connect is given up: a host that is gone does not answer. */
const connectMs = 3000;
/** After this a request is given up, and what the kernel has not delivered of it is thrown away. */
const lostMs = 60_000;
/** How often the time and the lease of a request under way are checked. */
const lookMs = 250;

/** Line protocol over HTTP, on one connection that is kept. */
export class HttpSink implements LineSink {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #login: ReturnType<typeof authorizationOf>;
  readonly #inTurn = oneAtATime();
  #sentMs: number | undefined;
  #closed = false;

  /** @param url base address of the server. */
  constructor(url: string, access: HttpAccess = {}) {
    this.#url = new URL('/write?precision=ms', url);
    this.#agent = agentFor(url, access.tls, { keepAlive: true, maxSockets: 1 });
    this.#login = authorizationOf(access);
  }

  /** Whether an answer has been awaited for too long. */
  get slow(): boolean {
    return this.#sentMs !== undefined && performance.now() - this.#sentMs > slowMs;
  }

  send(body: readonly Uint8Array[], lease: Lease): Promise<void> {
    return this.#inTurn(() => this.#send(body, lease));
  }

  /** Cuts the connection; what is under way has an unknown outcome. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
  }

  async #send(body: readonly Uint8Array[], lease: Lease): Promise<void> {
    if (this.#closed) throw new NotAccepted('none', 'the connection is closed');
    if (!lease.held()) throw new NotAccepted('none', 'the lease is lost');
    this.#sentMs = performance.now();
    try {
      await during(lease, (goesOn) => this.#exchange(body, goesOn));
    } finally {
      this.#sentMs = undefined;
    }
  }

  async #exchange(body: readonly Uint8Array[], goesOn: () => boolean): Promise<void> {
    const bytes = body.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const headers = { 'content-type': 'text/plain', 'content-length': bytes, ...this.#login };
    const sending = request(this.#url, { method: 'POST', agent: this.#agent, headers });
    // A request may also fail after its answer has begun, of which the answer is told too.
    sending.on('error', () => undefined);
    const pieces = lastByteApart(body);
    const connection = new Connection(sending, () => write(sending, pieces, goesOn));
    const beganMs = performance.now();
    const looking = setInterval(() => {
      const maxMs = connection.connected ? lostMs : connectMs;
      if (!goesOn() || performance.now() - beganMs > maxMs) connection.reset();
    }, lookMs);
    try {
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      if (answer.statusCode !== 204) throw failureOf(answer.statusCode!, await text(answer));
      answer.resume();
    } catch (cause) {
      // Also after a refusal: it may have come while the body was being sent, the rest of which nobody reads.
      await connection.ended();
      if (cause instanceof NotAccepted) throw cause;
      throw new NotAccepted(connection.connected ? 'unknown' : 'none', `no answer from QuestDB: ${(cause as Error).message}`, { cause });
    } finally {
      clearInterval(looking);
    }
  }
}

/** What becomes of the connection that a request gets. */
class Connection {
  #socket: Socket | undefined;
  #connected = false;

  /** @param begin is called once there is a connection. */
  constructor(sending: ClientRequest, begin: () => void) {
    const connected = (): void => {
      this.#connected = true;
      begin();
    };
    sending.once('socket', (socket) => {
      this.#socket = socket;
      onceOpen(socket, connected);
    });
  }

  /** Whether bytes may have left. */
  get connected(): boolean {
    return this.#connected;
  }

  /** What waits to be delivered is thrown away, also by the kernel. */
  reset(): void {
    if (this.#socket) resetSocket(this.#socket);
  }

  /** Resolves when nothing of the request is under way any more. */
  async ended(): Promise<void> {
    const socket = this.#socket;
    if (!socket || socket.closed) return;
    socket.destroy();
    await once(socket, 'close');
  }
}

/**
 * A body in pieces, of which the last one is a single byte. QuestDB stores nothing of a body whose last byte is missing. If the process is stopped between
 * its last look at the lease and the write of the last piece, it sends old rows when it goes on. One byte is written in a fifth of the time of a whole body,
 * so that this seldom happens.
 */
function lastByteApart(body: readonly Uint8Array[]): readonly Uint8Array[] {
  const last = body.at(-1)!;
  return [...body.slice(0, -1), last.subarray(0, -1), last.subarray(-1)];
}

/** Each piece follows when the kernel has taken the one before, so that a process which stood still meanwhile looks at its lease first. */
function write(sending: ClientRequest, body: readonly Uint8Array[], goesOn: () => boolean, at = 0): void {
  if (!goesOn()) return;
  if (at + 1 >= body.length) {
    sending.end(body[at]);
    return;
  }
  sending.write(body[at], (failure) => {
    if (!failure) write(sending, body, goesOn, at + 1);
  });
}

/** An answer that blames the body is JSON that names a line, counted from 1. */
function failureOf(status: number, said: string): NotAccepted {
  if (status === 401 || status === 403) return new NotAccepted('none', credentialsRefused(status));
  const why = `QuestDB answers ${status}: ${said.slice(0, 500)}`;
  const line = status === 400 ? /"line"\s*:\s*(\d+)/.exec(said)?.[1] : undefined;
  return line === undefined ? new NotAccepted('none', why) : new Refused(Number(line) - 1, why);
}
