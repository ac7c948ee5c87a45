import { Inject, Injectable, Logger, Optional, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { type Caller, gauge, tally, TelemetryError } from '#model';
import { MONOTONIC_CLOCK, type MonotonicClock } from '../clock.js';
import { Admission } from '../admission.js';
import { KeyUses } from '../key-uses.js';
import { Metrics } from '../metrics.js';
import { Traffic } from '../traffic.js';
import { closeCodes, holdLittle, LiveSocket, type Talk } from './live-socket.js';

const logger = new Logger('LiveSockets');

const lookMs = 1_000;
/** A socket on which nobody is admitted for so long is closed. */
const loginMs = 10_000;
const pingMs = 30_000;
/** Pings without an answer after which a connection is dead. */
const maxMissed = 2;
const maxFirstFrameBytes = 64 * 1024;
/** What a chunk takes beside its bytes: whoever sends single bytes takes much more memory than they send. */
const chunkBytes = 768;
/**
 * A frame that comes in many small pieces waits for the next of them for as many milliseconds as there were pieces. So a frame that is sent a byte
 * at a time within t milliseconds is read in about √2t pieces, and is complete about as many milliseconds later.
 */
const smallPieceBytes = 512;
const freePieces = 16;
const maxRestMs = 1_000;
/** A ping or pong, beside what it carries. */
const controlBytes = 6;
/** Memory that may be taken before somebody is admitted: by the first frame, also where it comes in many chunks. */
const maxLoginBytes = 2 * maxFirstFrameBytes;
/** `Talk.coming` is called for an incomplete frame once it has about so many bytes. */
const largeBytes = 64 * 1024;

export const SOCKET_LIMITS = Symbol('SocketLimits');

/** What sockets may be open in one process. */
export interface SocketLimits {
  /** Of one address, while nobody is admitted on them yet. */
  readonly strangers: number;
  readonly ofKey: number;
}

const socketLimits: SocketLimits = { strangers: 2_000, ofKey: 20_000 };

const smallerFirst = 'Send a first frame of at most 64 KiB.';

interface Open {
  readonly socket: LiveSocket;
  readonly talk: Talk;
  readonly endTraffic: () => void;
  endListening: () => void;
  /** Before that, nobody has to look at it. */
  dueMs: number;
}

/** All WebSockets of this process: their limits, their pings, and their end. */
@Injectable()
export class LiveSockets implements OnModuleDestroy {
  /** Ordered by due time: each new due time is the same span from now. */
  readonly #strangers = new Map<LiveSocket, Open>();
  readonly #admitted = new Map<LiveSocket, Open>();
  readonly #strangersOf = new Map<string, number>();
  readonly #socketsOf = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly admission: Admission,
    private readonly traffic: Traffic,
    private readonly uses: KeyUses,
    metrics: Metrics,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
    @Optional() @Inject(SOCKET_LIMITS) private readonly limits: SocketLimits = socketLimits,
  ) {
    metrics.add(
      gauge(
        'headwater_websockets_open',
        'WebSockets that are open, whether or not somebody has authenticated on them.',
        () => this.#strangers.size + this.#admitted.size,
      ),
    );
  }

  /**
   * To be called before a socket is made of a request.
   *
   * @throws TelemetryError `over_rate` when its address has too many sockets on which nobody is admitted yet.
   */
  check({ ip }: FastifyRequest): void {
    if ((this.#strangersOf.get(ip) ?? 0) >= this.limits.strangers)
      throw new TelemetryError('over_rate', 'Connect again in a moment: too many sockets of this address wait.');
  }

  /**
   * Has `talk` speak on a socket until it ends.
   *
   * @param talk makes who speaks; what it throws closes the socket.
   */
  open(webSocket: WebSocket, request: FastifyRequest, talk: (socket: LiveSocket) => Talk): void {
    holdLittle(request.raw.socket);
    const socket = new LiveSocket(webSocket, request.raw.socket, request.ip);
    webSocket.on('error', () => undefined);
    tally(this.#strangersOf, socket.address, 1);
    const guarded = new GuardedTalk(socket, talk);
    const one: Open = {
      socket,
      talk: guarded,
      endTraffic: this.traffic.begin(() => guarded.finish()),
      endListening: () => undefined,
      dueMs: this.monotonicMs() + loginMs,
    };
    this.#strangers.set(socket, one);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    let loginBytes = 0;
    let comingBytes = 0;
    let endsFrame = false;
    let pingBytes = 0;
    let pieces = 0;
    // The WebSocket has taken the chunk by now, and its frames.
    request.raw.socket.on('data', (chunk: Buffer) => {
      // Pings and pongs leave nothing behind: of a chunk that ends one, the beginning was counted.
      const left = chunk.length - pingBytes;
      // How much of a chunk that ends one frame belongs to the next frame is not known. Such a chunk is not counted; it has at most 64 KiB.
      comingBytes = endsFrame ? 0 : comingBytes + left + Math.sign(left) * chunkBytes;
      endsFrame = false;
      pingBytes = 0;
      if (comingBytes > largeBytes) guarded.coming(comingBytes);
      if (left > 0 && left < smallPieceBytes && ++pieces > freePieces) socket.rest(Math.min(pieces, maxRestMs));
      if (!socket.caller && (loginBytes += chunk.length + chunkBytes) > maxLoginBytes) socket.close(closeCodes.tooLarge, smallerFirst);
    });
    const takePing = (data: Buffer): void => void (pingBytes += controlBytes + data.length);
    webSocket
      .on('message', (data: Buffer, isBinary) => {
        socket.missed = 0;
        endsFrame = true;
        pieces = 0;
        if (isBinary) socket.close(closeCodes.unsupportedData, 'Send text frames.');
        else if (!socket.caller && data.length > maxFirstFrameBytes) socket.close(closeCodes.tooLarge, smallerFirst);
        else if (socket.isOpen) guarded.take(data);
      })
      .on('ping', takePing)
      .on('pong', (data: Buffer) => {
        socket.missed = 0;
        takePing(data);
      })
      .once('close', () => this.#end(one));
  }

  /**
   * Notes that a caller was admitted on a socket, which may stay open from now on.
   *
   * @throws TelemetryError `over_rate` when its key has too many sockets.
   */
  admit(socket: LiveSocket, caller: Caller): void {
    const one = this.#strangers.get(socket);
    if (!one) return;
    const sockets = this.#socketsOf.get(caller.keyId) ?? 0;
    const { ofKey } = this.limits;
    if (sockets >= ofKey) throw new TelemetryError('over_rate', `Keep at most ${ofKey.toLocaleString('en')} sockets of one key open.`);
    this.#endStranger(socket);
    tally(this.#socketsOf, caller.keyId, 1);
    socket.caller = caller;
    one.dueMs = this.monotonicMs() + pingMs;
    one.endListening = this.admission.revoked(caller, () => one.talk.revoked());
    this.#admitted.set(socket, one);
  }

  /** Cuts what is still open once the server has had its time to stop in order. */
  onModuleDestroy(): void {
    for (const sockets of [this.#strangers, this.#admitted]) for (const socket of sockets.keys()) socket.terminate();
  }

  #endStranger(socket: LiveSocket): void {
    if (this.#strangers.delete(socket)) tally(this.#strangersOf, socket.address, -1);
  }

  #end({ socket, talk, endTraffic, endListening }: Open): void {
    this.#endStranger(socket);
    if (this.#admitted.delete(socket)) tally(this.#socketsOf, socket.caller!.keyId, -1);
    endListening();
    endTraffic();
    talk.ended();
    if (this.#strangers.size + this.#admitted.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const nowMs = this.monotonicMs();
    for (const [socket, { talk, dueMs }] of this.#strangers) {
      if (dueMs > nowMs) break;
      this.#endStranger(socket);
      talk.late();
    }
    for (const [socket, one] of this.#admitted) {
      if (one.dueMs > nowMs) break;
      this.#admitted.delete(socket);
      one.dueMs = nowMs + pingMs;
      this.#admitted.set(socket, one);
      if (!socket.caller!.person) this.uses.note(socket.caller!, socket.address);
      if (!socket.isPaused && socket.missed++ >= maxMissed) socket.terminate();
      else socket.ping();
    }
  }
}

/** What a talk throws would end the process: it ends the socket instead. */
class GuardedTalk implements Talk {
  #talk: Talk | undefined;

  constructor(
    private readonly socket: LiveSocket,
    make: (socket: LiveSocket) => Talk,
  ) {
    this.#guard(() => (this.#talk = make(socket)));
  }

  take(frame: Buffer): void {
    this.#guard(() => this.#talk?.take(frame));
  }

  coming(bytes: number): void {
    this.#guard(() => this.#talk?.coming?.(bytes));
  }

  late(): void {
    this.#guard(() => this.#talk?.late());
  }

  revoked(): void {
    this.#guard(() => this.#talk?.revoked());
  }

  finish(): void {
    this.#guard(() => this.#talk?.finish());
  }

  ended(): void {
    this.#guard(() => this.#talk?.ended());
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.socket.close(closeCodes.internal, 'Something went wrong here.');
      logger.error(error);
    }
  }
}
