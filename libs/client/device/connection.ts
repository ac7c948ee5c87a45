import { HeadwaterError } from '../error.js';
import type { Server } from '../request.js';
import { timer } from './bell.js';
import type { Frame } from './commands.js';
import type { Outcome } from './sender.js';

/** Frames that the server has not acknowledged. */
const maxFrames = 32;
const maxFlyingBytes = 1024 * 1024;
const loginMs = 20_000;

export interface Patience {
  /** So often a quiet connection is asked whether it lives: a frame without points is acknowledged too. */
  readonly heartbeatMs: number;
  /** A connection that takes nothing and brings nothing for so long while an answer is due is dead. */
  readonly deadMs: number;
}

interface Flight {
  readonly seq: number;
  readonly bytes: number;
  readonly landed: (outcome: Outcome) => void;
}

export interface ConnectionListener {
  /** The server has let the device in. */
  opened(): void;
  /** A flight has landed: there may be room. */
  landed(): void;
  heard(frame: Readonly<Record<string, unknown>>): void;
  failed(error: HeadwaterError): void;
  /** @param refused what the server said when it did not let the device in, or no longer. */
  ended(code: number, refused: HeadwaterError | undefined): void;
}

export interface Login {
  readonly sourceId: string;
  readonly commands: readonly string[];
}

/** One connection of the real-time channel, from its first frame to its end. */
export class Connection {
  readonly #socket: WebSocket;
  #flights: Flight[] = [];
  #flyingBytes = 0;
  #seq = 0;
  #isIn = false;
  #hasAcks = false;
  #hasEnded = false;
  #refused: HeadwaterError | undefined;
  #timer: ReturnType<typeof setTimeout>;
  /** When something last came or went. */
  #aliveMs = performance.now();
  #sentMs = performance.now();
  #unsent = 0;

  constructor(
    { url, apiKey }: Server,
    login: Login,
    private readonly listener: ConnectionListener,
    Socket: typeof WebSocket,
    private readonly patience: Patience = { heartbeatMs: 30_000, deadMs: 45_000 },
  ) {
    this.#socket = new Socket(`${url.replace(/^http/, 'ws')}/ws/device`);
    this.#socket.addEventListener('open', () => {
      this.say({
        type: 'device_auth',
        api_key: apiKey,
        source_id: login.sourceId,
        acks: true,
        protocol: 1,
        commands: login.commands,
        platform: 'javascript',
        agent_version: 'headwater-client',
      });
    });
    this.#socket.addEventListener('message', ({ data }) => this.#hear(data));
    this.#socket.addEventListener('close', ({ code }) => this.#end(code));
    // What is wrong is told by the close that follows.
    this.#socket.addEventListener('error', () => undefined);
    this.#timer = timer(loginMs, () => this.#isIn || this.#end(1006));
  }

  /** Whether points can be sent: only where the server says what it has. */
  get isOpen(): boolean {
    return this.#hasAcks && !this.#hasEnded;
  }

  get isIn(): boolean {
    return this.#isIn && !this.#hasEnded;
  }

  get hasRoom(): boolean {
    return this.#flights.length < maxFrames && this.#flyingBytes < maxFlyingBytes;
  }

  send(points: string): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    if (!this.isOpen) resolve('unknown');
    else {
      // While nothing was due, silence meant nothing.
      if (this.#flights.length === 0) this.#aliveMs = performance.now();
      this.#flights.push({ seq: ++this.#seq, bytes: points.length, landed: resolve });
      this.#flyingBytes += points.length;
      this.#write(`{"type":"telemetry","seq":${this.#seq},"points":[${points}]}`);
    }
    return promise;
  }

  say(frame: Frame): void {
    if (!this.#hasEnded) this.#write(JSON.stringify(frame));
  }

  close(): void {
    this.#end(1000);
  }

  #write(text: string): void {
    if (this.#socket.readyState !== 1) return;
    this.#sentMs = performance.now();
    this.#socket.send(text);
  }

  #hear(data: unknown): void {
    if (this.#hasEnded) return;
    this.#aliveMs = performance.now();
    const frame = fieldsIn(data);
    const { type, seq } = frame;
    if (type === 'authenticated') this.#letIn(frame['acks'] === true);
    else if (type === 'telemetry_ack') this.#land(Number(seq), 'stored');
    else if (type === 'error') this.#fail(frame);
    else this.listener.heard(frame);
  }

  #letIn(hasAcks: boolean): void {
    this.#isIn = true;
    this.#hasAcks = hasAcks;
    clearTimeout(this.#timer);
    this.#watch();
    this.listener.opened();
  }

  #fail({ seq, code, detail, message }: Readonly<Record<string, unknown>>): void {
    const error = new HeadwaterError(String(detail ?? message), typeof code === 'string' ? code.toLowerCase() : 'not_let_in');
    if (typeof seq === 'number') return this.#land(seq, 'refused');
    if (code === undefined) this.#refused = error;
    this.listener.failed(error);
  }

  /** Settles the frames up to this one. */
  #land(seq: number, outcome: Outcome): void {
    const count = this.#flights.filter((flight) => flight.seq <= seq).length;
    for (const { seq: own, bytes, landed } of this.#flights.splice(0, count)) {
      this.#flyingBytes -= bytes;
      landed(own === seq ? outcome : 'stored');
    }
    this.listener.landed();
  }

  /** Looks whether the connection lives, as often as it has to be asked. */
  #watch(): void {
    const { heartbeatMs, deadMs } = this.patience;
    this.#timer = timer(heartbeatMs / 6, () => {
      if (this.#hasEnded) return;
      const nowMs = performance.now();
      const unsent = this.#socket.bufferedAmount;
      if (unsent < this.#unsent) this.#aliveMs = nowMs;
      this.#unsent = unsent;
      if (this.#flights.length > 0 && nowMs - this.#aliveMs > deadMs) return this.#end(1006);
      if (nowMs - this.#sentMs >= heartbeatMs) {
        this.say({ type: 'heartbeat' });
        if (this.isOpen && this.#flights.length === 0) void this.send('');
      }
      this.#watch();
    });
  }

  #end(code: number): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#socket.close();
    for (const { landed } of this.#flights.splice(0)) landed('unknown');
    this.listener.ended(
      code,
      code === 1008 ? (this.#refused ?? new HeadwaterError('The server does not let the device in.', 'not_let_in')) : undefined,
    );
  }
}

function fieldsIn(data: unknown): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = typeof data === 'string' ? JSON.parse(data) : undefined;
    return typeof found === 'object' && found ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
