import { StreamableFile } from '@nestjs/common';
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Caller, TelemetryError } from '#model';
import type { Observer } from '../answered.js';
import type { Held } from '../in-flight.js';
import { type Problem, problemContentType, problemHeaders, problemOf, telemetryErrorOf } from '../problem.js';
import { release } from '../read-body.js';
import { newRequestId } from '../request-id.js';
import type { Traffic } from '../traffic.js';
import type { DirectRoute } from './direct-route.js';
import type { PlainRequest } from './plain-request.js';

/** A whole request that was let in. */
export interface DirectRequest {
  readonly plain: PlainRequest;
  readonly route: DirectRoute;
  /** What the path has in place of the route's parameter. */
  readonly parameter: string;
  readonly caller: Caller;
  /** All of it. */
  readonly bytes: Buffer;
  readonly body: Buffer;
  /** Counts the body, or one open read, among what is in flight. */
  readonly held: Held;
}

/** What connections need of the server that they belong to. */
export interface DirectServer {
  readonly traffic: Traffic;
  readonly observer: Observer;
  readonly keepAliveMs: number;
  /** The next answer on each connection is the last one. */
  readonly isClosing: boolean;
  /** Reads bytes that are exactly one whole request. Undefined where they are not, or where `node:http` has to answer the request. */
  requestIn(bytes: Buffer, address: string | undefined): DirectRequest | undefined;
  /** Hands the connection and the bytes that came last to `node:http`. */
  handOver(connection: DirectConnection, bytes: Buffer): void;
  closed(connection: DirectConnection): void;
}

/** A request whose answer is not out. */
interface UnderWay {
  readonly request: DirectRequest;
  readonly id: string;
  readonly startMs: number;
  readonly end: () => void;
  /** 499 while there is no answer. */
  status: number;
  failure: TelemetryError | undefined;
}

/** One connection while all that comes on it are plain requests, one after the other. */
export class DirectConnection {
  readonly #address: string | undefined;
  #underWay: UnderWay | undefined;
  /** What came before the answer was out. */
  #early: Buffer | undefined;
  #hasEnded = false;
  #idleSinceMs = performance.now();

  constructor(
    private readonly server: DirectServer,
    readonly socket: Socket,
  ) {
    // A closed socket knows no address any more.
    this.#address = socket.remoteAddress;
    socket.on('data', this.#hear).on('end', this.#hearEnd).on('error', this.#fail).on('close', this.#close);
    socket.push = this.#push;
  }

  /** What happens on the connection from now on is somebody else's. */
  leave(): void {
    const { socket } = this;
    // Deleting the property would make every access to the socket slower.
    socket.push = (bytes: unknown, encoding) => Readable.prototype.push.call(socket, bytes, encoding);
    socket.off('data', this.#hear).off('end', this.#hearEnd).off('error', this.#fail).off('close', this.#close);
  }

  /** Closes the connection if it has been idle for `idleMs`, or for `firstMs` where the client has sent nothing yet. */
  closeIdle(idleMs = 0, firstMs = idleMs): void {
    const limitMs = this.socket.bytesRead === 0 ? firstMs : idleMs;
    if (!this.#underWay && performance.now() - this.#idleSinceMs >= limitMs) this.socket.destroy();
  }

  /**
   * Takes what `node:net` has read, in place of the stream: after each piece, a stream looks in a later turn of the event loop whether it should read more,
   * which costs more than all that is done with a head. What is not for now is left to the stream: the end, and what comes far too early.
   */
  readonly #push = (bytes: Buffer | null): boolean => {
    if (!bytes || this.#early) return Readable.prototype.push.call(this.socket, bytes);
    this.#hear(bytes);
    return true;
  };

  readonly #hear = (bytes: Buffer): void => {
    if (this.#underWay) {
      this.#early = bytes;
      this.socket.pause();
      return;
    }
    const request = this.server.requestIn(bytes, this.#address);
    if (!request) return this.server.handOver(this, bytes);
    const end = this.server.traffic.begin();
    this.#underWay = { request, id: newRequestId(), startMs: performance.now(), end, status: 499, failure: undefined };
    void this.#answer(this.#underWay);
  };

  async #answer(underWay: UnderWay): Promise<void> {
    const { request, id } = underWay;
    const { plain, route, parameter, caller, bytes, body, held } = request;
    const { traceparent, url } = plain;
    let answer: Answer;
    try {
      answer = answerOf(await route.answer({ caller, id, traceparent, held, url, parameter }, body));
      underWay.status = 200;
    } catch (error) {
      underWay.failure = telemetryErrorOf(error);
      const problem = problemOf(underWay.failure, id);
      answer = refusal(problem, underWay.failure);
      underWay.status = problem.status;
    }
    release(bytes);
    this.#send(held, this.#head(id, answer), answer.body);
  }

  #send(held: Held, head: string, body: Answer['body']): void {
    const { socket } = this;
    if (body instanceof Readable) {
      socket.write(head);
      return void pipeline(body, socket, { end: false }).then(
        () => this.#sent(held, undefined),
        (error: Error) => {
          this.#sent(held, error);
          // The client must not take the beginning of an answer for all of it.
          socket.destroy();
        },
      );
    }
    if (socket.destroyed) return held.release();
    socket.write(typeof body === 'string' ? head + body : joined(head, body));
    // Mostly the kernel takes the whole answer during `write`. A callback would cost more then than `write` itself.
    if (socket.writableLength === 0) this.#sent(held, socket.errored);
    else socket.write('', (error) => this.#sent(held, error));
  }

  #sent(held: Held, error: Error | null | undefined): void {
    held.release();
    this.#tell(!error);
    if (!error) this.#goOn();
  }

  #head(id: string, { status, lines }: Answer): string {
    const { isClosing, keepAliveMs } = this.server;
    const next = isClosing || this.#hasEnded ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}`;
    return `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\ncache-control: no-store\r\n${lines}\r\nDate: ${httpDate()}\r\nConnection: ${next}\r\n\r\n`;
  }

  /** Once for each request: when its answer is out, or when there is nobody any more to have it. */
  #tell(complete: boolean): void {
    if (!this.#underWay) return;
    const { request, id: requestId, startMs, end, status, failure } = this.#underWay;
    this.#underWay = undefined;
    this.#idleSinceMs = performance.now();
    end();
    this.server.observer({
      requestId,
      method: request.plain.method,
      route: request.route.pattern,
      status,
      durationMs: this.#idleSinceMs - startMs,
      complete,
      address: this.#address,
      orgId: request.caller.orgId,
      keyId: request.caller.keyId,
      failure,
    });
  }

  #goOn(): void {
    const early = this.#early;
    if (early) this.server.handOver(this, early);
    else if (this.#hasEnded || this.server.isClosing) this.socket.destroySoon();
  }

  readonly #hearEnd = (): void => {
    this.#hasEnded = true;
    if (!this.#underWay) this.socket.end();
  };

  readonly #fail = (): void => void this.socket.destroy();

  readonly #close = (): void => {
    this.server.closed(this);
    this.#tell(false);
  };
}

/** An answer without what all answers have. */
interface Answer {
  /** The number and its name. */
  readonly status: string;
  /** Its own headers. */
  readonly lines: string;
  readonly body: string | Buffer | Readable;
}

const jsonLine = 'content-type: application/json; charset=utf-8';
const lengthLine = (bytes: number): string => `content-length: ${bytes}`;

/** The answer that a route has made; see `DirectRoute.answer`. */
function answerOf(made: object): Answer {
  if (!(made instanceof StreamableFile)) {
    const body = Buffer.isBuffer(made) ? made : JSON.stringify(made);
    return { status: '200 OK', lines: `${jsonLine}\r\n${lengthLine(Buffer.byteLength(body))}`, body };
  }
  const { length } = made.getHeaders();
  if (length !== undefined) return { status: '200 OK', lines: `${jsonLine}\r\n${lengthLine(length)}`, body: made.getStream() };
  return { status: '200 OK', lines: `${jsonLine}\r\ntransfer-encoding: chunked`, body: Readable.from(chunked(made.getStream())) };
}

function refusal(problem: Problem, failure: TelemetryError): Answer {
  const body = JSON.stringify(problem);
  const headers = { ...problemHeaders(failure), 'content-type': problemContentType, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return { status: `${problem.status} ${STATUS_CODES[problem.status]}`, lines: lines.join('\r\n'), body };
}

/** A body of unknown length, as RFC 9112 §7.1 has it. */
async function* chunked(pieces: Readable): AsyncGenerator<Buffer> {
  for await (const piece of pieces as AsyncIterable<Buffer>) {
    yield Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]);
  }
  yield Buffer.from('0\r\n\r\n');
}

/** Both in one piece, because two writes cost more than a copy of a short answer. */
function joined(head: string, body: Buffer): Buffer {
  const whole = Buffer.allocUnsafe(head.length + body.length);
  whole.write(head, 'latin1');
  body.copy(whole, head.length);
  return whole;
}

let date = '';
let dateSecond = 0;

/** Now, as the header `Date` has it. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
