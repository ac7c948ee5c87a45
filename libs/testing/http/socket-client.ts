import { once } from 'node:events';
import { WebSocket } from 'ws';
import { patienceMs } from '../eventually.js';

/** A frame as JSON. */
export type Frame = Readonly<Record<string, unknown>>;

/** The other end of a WebSocket: what comes is kept until somebody asks for it. */
export class SocketClient {
  readonly #frames: string[] = [];
  readonly #ears = new Set<() => void>();
  /** Set once the socket is closed. */
  closed: number | undefined;

  private constructor(readonly socket: WebSocket) {
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      this.#frames.push(data.toString());
      this.#tell();
    });
    socket.on('close', (code) => {
      this.closed = code;
      this.#tell();
    });
  }

  /** @param base of HTTP. Rejects with the status of the answer when the upgrade is refused. */
  static async open(base: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<SocketClient> {
    const socket = new WebSocket(base.replace(/^http/, 'ws') + path, { headers });
    const client = new SocketClient(socket);
    const refused = once(socket, 'unexpected-response').then(([, response]) => {
      throw new Error(`the upgrade was answered with ${(response as { statusCode: number }).statusCode}`);
    });
    refused.catch(() => undefined);
    await Promise.race([once(socket, 'open'), refused]);
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame));
  }

  /** The next frame that has not been asked for, as text. */
  async text(): Promise<string> {
    await this.#until(() => this.#frames.length > 0 || this.closed !== undefined, 'a frame');
    const frame = this.#frames.shift();
    if (frame === undefined) throw new Error(`the socket was closed with ${this.closed}`);
    return frame;
  }

  async json(): Promise<Frame> {
    return JSON.parse(await this.text()) as Frame;
  }

  /** Resolves with the code once the socket is closed. */
  async end(): Promise<number> {
    await this.#until(() => this.closed !== undefined, 'the end');
    return this.closed!;
  }

  /** Frames that came and were not asked for. */
  get left(): readonly string[] {
    return this.#frames;
  }

  close(): Promise<number> {
    this.socket.close();
    return this.end();
  }

  async #until(isSo: () => boolean, what: string): Promise<void> {
    const late = AbortSignal.timeout(patienceMs);
    late.addEventListener('abort', () => this.#tell());
    while (!isSo()) {
      if (late.aborted) throw new Error(`${what} did not come`);
      await new Promise<void>((resolve) => this.#ears.add(resolve));
    }
  }

  #tell(): void {
    for (const ear of this.#ears) ear();
    this.#ears.clear();
  }
}
