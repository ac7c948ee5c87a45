import { HeadwaterError } from '../error.js';
import type { Server } from '../request.js';
import { pauseMs } from '../retry.js';
import { Bell } from './bell.js';
import { Commands, type Frame } from './commands.js';
import { Connection } from './connection.js';
import type { Outcome, Pace, PointChannel } from './sender.js';

/** A connection that has lasted for so long was a good one. */
const goodMs = 10_000;
/** Tries that a connection which ends counts for: many devices may have lost theirs at once. */
const lostTries = 2;

export interface ChannelListener {
  /** Points can be sent over it, or more of them. */
  ready(): void;
  failed(error: HeadwaterError): void;
}

/** The real-time channel: it connects again whenever its connection ends. */
export class Channel implements PointChannel {
  readonly commands = new Commands((frame) => this.#say(frame));
  readonly #bell = new Bell();
  #connection: Connection | undefined;
  #isRunning = false;
  #isClosed = false;
  #waiting: PromiseWithResolvers<void>[] = [];

  constructor(
    private readonly server: () => Promise<Server>,
    private readonly sourceId: string,
    private readonly pace: Pace,
    private readonly listener: ChannelListener,
    private readonly socket: typeof WebSocket | undefined,
  ) {}

  get isOpen(): boolean {
    return this.#connection?.isOpen === true;
  }

  get hasRoom(): boolean {
    return this.#connection?.hasRoom === true;
  }

  send(points: string): Promise<Outcome> {
    return this.#connection?.send(points) ?? Promise.resolve('unknown');
  }

  /** Resolves once the server lets the device in. Rejects `HeadwaterError` when it refuses to, or when the device is closed. */
  connect(): Promise<void> {
    if (this.#connection?.isIn) return Promise.resolve();
    const waiting = Promise.withResolvers<void>();
    this.#waiting.push(waiting);
    if (!this.#isRunning) void this.#run();
    return waiting.promise;
  }

  /** Resolves once the server knows how the commands have ended, or cannot be told. */
  async reported(): Promise<void> {
    if (this.#connection?.isIn) await this.commands.acknowledged();
  }

  close(): void {
    this.#isClosed = true;
    this.commands.close();
    this.#connection?.close();
    this.#settle(new HeadwaterError('The device was closed.', 'closed'));
    this.#bell.ring();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let tries = 0; !this.#isClosed;) {
      const beganMs = performance.now();
      const { wasIn, refused } = await this.#once();
      if (this.#isClosed) break;
      if (refused) {
        this.listener.failed(refused);
        this.#settle(refused);
        await this.#bell.wait(this.pace.slowMs * (0.5 + Math.random()));
        continue;
      }
      if (wasIn && performance.now() - beganMs > goodMs) tries = 0;
      await this.#bell.wait(pauseMs(undefined, tries++ + (wasIn ? lostTries : 0), this.pace));
    }
  }

  /** One connection, until it ends. Never rejects. */
  async #once(): Promise<{ readonly wasIn: boolean; readonly refused: HeadwaterError | undefined }> {
    const { promise, resolve } = Promise.withResolvers<{ wasIn: boolean; refused: HeadwaterError | undefined }>();
    try {
      const server = await this.server();
      let wasIn = false;
      const login = { sourceId: this.sourceId, commands: this.commands.names };
      this.#connection = new Connection(
        server,
        login,
        {
          opened: () => {
            wasIn = true;
            this.commands.opened();
            this.#settle();
            this.listener.ready();
          },
          landed: () => this.listener.ready(),
          heard: (frame) => void this.commands.hear(frame),
          failed: (error) => this.listener.failed(error),
          ended: (code, refused) => {
            if (!wasIn && !refused && !this.#isClosed)
              this.listener.failed(new HeadwaterError(`The real-time channel to ${server.url} does not open (${code}).`, 'no_answer'));
            this.#connection = undefined;
            this.commands.lost();
            this.listener.ready();
            resolve({ wasIn, refused });
          },
        },
        this.socket ?? globalThis.WebSocket,
      );
      if (this.#isClosed) this.#connection.close();
    } catch (error) {
      const known =
        error instanceof HeadwaterError
          ? error
          : new HeadwaterError('There is no WebSocket here: give one as webSocket.', 'invalid_argument', { cause: error });
      return { wasIn: false, refused: known };
    }
    return promise;
  }

  #say(frame: Frame): void {
    if (this.#connection?.isIn) this.#connection.say(frame);
  }

  #settle(error?: HeadwaterError): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (error) reject(error);
      else resolve();
    }
  }
}
