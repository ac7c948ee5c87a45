import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Caller } from '#model';

/** Who speaks on a socket. Whatever it throws closes the socket with 1011. */
export interface Talk {
  /** One text frame, as UTF-8. Frames come in order. */
  take(frame: Buffer): void;
  /** A large frame is not complete yet and takes so many bytes of memory so far. Called again with each chunk of it. */
  coming?(bytes: number): void;
  /** Nobody was admitted in time. */
  late(): void;
  /** The key of the caller does not let it in any more. */
  revoked(): void;
  /** The server stops: send what is still due, then close the socket with 1001, soon. */
  finish(): void;
  /** The socket is closed; nothing comes any more. */
  ended(): void;
}

/** Reserved codes of RFC 6455 and those of the wire contract. */
export const closeCodes = {
  goingAway: 1001,
  unsupportedData: 1003,
  policy: 1008,
  tooLarge: 1009,
  internal: 1011,
  tryLater: 1013,
  unauthorized: 4401,
  paymentRequired: 4402,
} as const;
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

/** How long a peer has to answer a close before its connection is cut. */
const goodbyeMs = 2_000;
/** The same where it has not taken all that was sent before: so long nothing may move. `ws` cuts any connection 30 s after its close. */
const standstillMs = 10_000;

/** One WebSocket of a client. */
export class LiveSocket {
  /** Whoever was admitted on it. */
  caller: Caller | undefined;
  /** Pings since the last sign of life. */
  missed = 0;
  #isClosing = false;
  #isPaused = false;
  #resting: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: WebSocket,
    private readonly raw: Socket,
    readonly address: string,
  ) {}

  get isOpen(): boolean {
    return !this.#isClosing && this.socket.readyState === this.socket.OPEN;
  }

  /** Bytes that were sent and have not left this process. */
  get unsentBytes(): number {
    return this.socket.bufferedAmount;
  }

  /**
   * Sends one text frame; does nothing once the socket is closing.
   *
   * @param left is called when the frame has left this process or was dropped; never where nothing was sent.
   */
  send(text: string | Buffer, left?: () => void): void {
    if (this.isOpen) this.socket.send(text, { binary: false }, left);
  }

  /** A frame of `textFrame`, which is made once for many sockets. With `send` each socket would make a head of its own, and write two pieces. */
  write(frame: Buffer): void {
    if (this.isOpen) this.raw.write(frame);
  }

  /** Has all that `work` sends leave in one write. */
  together(work: () => void): void {
    this.raw.cork();
    work();
    this.raw.uncork();
  }

  /** Nothing is read, and so no sign of life either. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Reads no more frames until `resume`, so that the peer has to wait; those in memory already still come. */
  pause(): void {
    this.#isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.socket.resume();
  }

  /** Reads nothing for so many milliseconds, so that what comes in single bytes meanwhile is read at once. Does nothing while it rests. */
  rest(ms: number): void {
    if (this.#resting || this.#isPaused || !this.isOpen) return;
    this.raw.pause();
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      if (!this.#isPaused) this.raw.resume();
    }, ms).unref();
  }

  ping(): void {
    if (this.isOpen) this.socket.ping();
  }

  /** The reason is at most 123 bytes of UTF-8. */
  close(code: CloseCode, reason = ''): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.resume();
    const hasAll = this.unsentBytes === 0;
    this.socket.close(code, reason);
    this.raw.setTimeout(hasAll ? goodbyeMs : standstillMs, () => this.socket.terminate());
  }

  /** Cuts the connection of a peer that does not answer. */
  terminate(): void {
    this.#isClosing = true;
    this.socket.terminate();
  }
}

/**
 * While a socket is paused Node goes on reading until 64 KiB wait, each chunk with a buffer of its own: of single bytes that is 20 MB. With this
 * mark one chunk waits, and the others with the kernel. Node has no public way to set the mark of one socket of a server.
 */
export function holdLittle(raw: Socket): void {
  (raw as unknown as { readonly _readableState: { highWaterMark: number } })._readableState.highWaterMark = 1;
}
