import type { FastifyRequest } from 'fastify';
import { closeCodes, type Admission, type CloseCode, type LiveSocket, type LiveSockets, type Talk } from '#edge';
import { parseJson, TelemetryError, type Caller } from '#model';
import { SocketOutlet } from './outlet.js';
import type { StreamReader } from './stream-reader.js';
import { codeFor, revokedText, type Streams } from './streams.js';
import type { Asked } from './wanted.js';

/** The same for whatever is wrong with a key, so that nobody learns which keys there are. */
const unauthorized = 'Send {"type":"auth","api_key":"<API key>"} with a valid key as the first frame.';

/** A WebSocket on which a live stream is read. */
export class StreamTalk implements Talk {
  #reader: StreamReader | undefined;

  constructor(
    private readonly socket: LiveSocket,
    private readonly request: FastifyRequest,
    private readonly asked: Asked,
    private readonly sockets: LiveSockets,
    private readonly admission: Admission,
    private readonly streams: Streams,
  ) {}

  /** What comes behind the first frame has no meaning. */
  take(frame: Buffer): void {
    if (this.#reader) return;
    const caller = this.#callerOf(frame);
    if (caller) this.#begin(caller);
  }

  late(): void {
    this.#end(closeCodes.unauthorized, unauthorized);
  }

  revoked(): void {
    this.#end(closeCodes.unauthorized, revokedText(this.socket.caller!));
  }

  finish(): void {
    this.#end(closeCodes.goingAway, 'The server stops: connect again.');
  }

  ended(): void {
    if (this.#reader) this.streams.leave(this.#reader);
  }

  #begin(caller: Caller): void {
    try {
      this.streams.checkLimits(caller, this.asked);
      this.sockets.admit(this.socket, caller);
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
      return this.#end(closeCodes.tryLater, error.message);
    }
    this.#reader = this.streams.open(caller, this.asked, new SocketOutlet(this.socket, this.asked.hasCursors));
  }

  /** Who sent the first frame; undefined when neither its key nor, without one, the session of the browser is admitted. */
  #callerOf(frame: Buffer): Caller | undefined {
    const auth = authIn(frame);
    const credential = { apiKey: auth?.api_key, place: 'the first frame' };
    try {
      if (auth && auth.api_key === undefined) return this.admission.admitTo('read', this.request, credential, { stream: true });
      return this.admission.admit(credential, this.socket.address, {});
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
      const code = codeFor(error);
      const isSecret = code === closeCodes.unauthorized && error.code !== 'missing_scope';
      this.#end(code, isSecret ? unauthorized : error.message);
      return undefined;
    }
  }

  #end(code: CloseCode, reason: string): void {
    if (this.#reader) this.#reader.close(code, reason);
    else this.socket.close(code, reason);
  }
}

/** An auth frame, with the key of a program or without one; undefined where the frame is none. */
function authIn(frame: Buffer): { readonly api_key?: string } | undefined {
  try {
    const { type, api_key: key } = parseJson(frame) as { type?: unknown; api_key?: unknown };
    if (type !== 'auth' || (key !== undefined && (typeof key !== 'string' || key === ''))) return undefined;
    return key === undefined ? {} : { api_key: key };
  } catch {
    return undefined;
  }
}
