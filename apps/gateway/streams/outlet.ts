import type { ServerResponse } from 'node:http';
import type { CloseCode, LiveSocket } from '#edge';
import type { Frame } from './frames.js';

/** The way to one reader. */
export interface Outlet {
  /** Whether every frame carries a cursor. */
  readonly hasCursors: boolean;
  /** Bytes that were sent and have not left this process. */
  readonly unsentBytes: number;
  /** Sends messages, in one write. */
  frames(frames: readonly Frame[]): void;
  /** Sends a message that carries no cursor. */
  message(json: string): void;
  /** Tells the reader where it is, or that the stream lives. */
  alive(cursor: string | undefined): void;
  close(code: CloseCode, reason: string): void;
  /** Ends the connection, whatever is unsent. */
  cut(): void;
}

export class SocketOutlet implements Outlet {
  constructor(
    private readonly socket: LiveSocket,
    readonly hasCursors: boolean,
  ) {}

  get unsentBytes(): number {
    return this.socket.unsentBytes;
  }

  frames(frames: readonly Frame[]): void {
    const send = (): void => {
      for (const frame of frames) this.socket.write(this.hasCursors ? frame.marked : frame.plain);
    };
    // One alone is one write anyway.
    if (frames.length === 1) send();
    else this.socket.together(send);
  }

  message(json: string): void {
    this.socket.send(json);
  }

  /** Pings are sent by `LiveSockets`. */
  alive(cursor: string | undefined): void {
    if (this.hasCursors && cursor) this.socket.send(`{"type":"cursor","cursor":"${cursor}"}`);
  }

  close(code: CloseCode, reason: string): void {
    this.socket.close(code, reason);
  }

  cut(): void {
    this.socket.terminate();
  }
}

/** How long a reader has to take the last event before its connection is cut, and how long where it has not taken all that was sent before. */
const goodbyeMs = 2_000;
const slowGoodbyeMs = 10_000;

/** `text/event-stream`: a message is an event without a name, and its cursor is the id. */
export class EventOutlet implements Outlet {
  readonly hasCursors = true;

  /** @param response its headers are sent. */
  constructor(private readonly response: ServerResponse) {}

  get unsentBytes(): number {
    return this.response.writableLength;
  }

  frames(frames: readonly Frame[]): void {
    this.response.cork();
    for (const frame of frames) this.#write(frame.event);
    this.response.uncork();
  }

  message(json: string): void {
    this.#write(`data: ${json}\n\n`);
  }

  /** An event without data is a comment that moves the id of the reader. */
  alive(cursor: string | undefined): void {
    this.#write(cursor ? `: alive\nid: ${cursor}\n\n` : ': alive\n\n');
  }

  close(code: CloseCode, reason: string): void {
    if (this.response.writableEnded) return;
    const hasAll = this.unsentBytes === 0;
    this.response.end(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`);
    setTimeout(() => this.response.destroy(), hasAll ? goodbyeMs : slowGoodbyeMs).unref();
  }

  cut(): void {
    this.response.destroy();
  }

  #write(text: Buffer | string): void {
    if (!this.response.writableEnded && !this.response.destroyed) this.response.write(text);
  }
}
