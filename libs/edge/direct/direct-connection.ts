import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import type { Caller, TelemetryError } from '#model';
import type { Observer } from '../answered.js';
import type { Held } from '../in-flight.js';
import { problemContentType, problemHeaders, problemOf, telemetryErrorOf } from '../problem.js';
import { release } from '../read-body.js';
import { newRequestId } from '../request-id.js';
import type { Traffic } from '../traffic.js';
import type { TakeBody } from './take-body.js';

/** A whole request that was let in. */
export interface DirectRequest {
  readonly path: string;
  readonly caller: Caller;
  readonly traceparent: string | undefined;
  /** All of it. */
  readonly bytes: Buffer;
  readonly body: Buffer;
  /** Holds the body. */
  readonly held: Held;
  readonly take: TakeBody;
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

/** One connection while all that comes on it are plain POSTs, one after the other. */
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
  }

  /** What happens on the connection from now on is somebody else's. */
  leave(): void {
    this.socket.off('data', this.#hear).off('end', this.#hearEnd).off('error', this.#fail).off('close', this.#close);
  }

  /** Closes the connection if it has been idle for `idleMs`, or for `firstMs` where the client has sent nothing yet. */
  closeIdle(idleMs = 0, firstMs = idleMs): void {
    const limitMs = this.socket.bytesRead === 0 ? firstMs : idleMs;
    if (!this.#underWay && performance.now() - this.#idleSinceMs >= limitMs) this.socket.destroy();
  }

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
    const { caller, traceparent, bytes, body, held, take } = request;
    let text: string;
    try {
      const answer = await take({ caller, id, traceparent }, body);
      text = this.#text(id, '200 OK', 'content-type: application/json; charset=utf-8', JSON.stringify(answer));
      underWay.status = 200;
    } catch (error) {
      const failure = telemetryErrorOf(error);
      const problem = problemOf(failure, id);
      const headers = Object.entries({ ...problemHeaders(failure), 'content-type': problemContentType });
      const lines = headers.map(([name, value]) => `${name}: ${value}`).join('\r\n');
      text = this.#text(id, `${problem.status} ${STATUS_CODES[problem.status]}`, lines, JSON.stringify(problem));
      underWay.failure = failure;
      underWay.status = problem.status;
    }
    release(bytes);
    if (this.socket.destroyed) return held.release();
    this.socket.write(text);
    // Mostly the kernel takes the whole answer during `write`. A callback would cost more then than `write` itself.
    if (this.socket.writableLength === 0) this.#sent(held, this.socket.errored);
    else this.socket.write('', (error) => this.#sent(held, error));
  }

  #sent(held: Held, error: Error | null | undefined): void {
    held.release();
    this.#tell(!error);
    if (!error) this.#goOn();
  }

  /** The answer as it goes out. @param lines of the headers that not every answer has. */
  #text(id: string, status: string, lines: string, body: string): string {
    const { isClosing, keepAliveMs } = this.server;
    const next = isClosing || this.#hasEnded ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}`;
    return `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\ncache-control: no-store\r\n${lines}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nDate: ${httpDate()}\r\nConnection: ${next}\r\n\r\n${body}`;
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
      method: 'POST',
      route: request.path,
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
