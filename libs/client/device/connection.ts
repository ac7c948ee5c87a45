import { HeadwaterError } from '../error.js';
import { objectIn, type Server } from '../request.js';
import { monotonicMs, timer } from '../waiting.js';
import type { Frame, Heard } from './commands.js';
import type { Outcome, PointChannel } from './sender.js';

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

/** An error has a code, and the number of a frame if that one is at fault. It has a message alone where the device is not let in. */
interface Refusal {
  readonly code?: string;
  readonly detail?: string;
  readonly message?: string;
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
  heard(frame: Heard): void;
  failed(error: HeadwaterError): void;
  /** @param refused what the server said when it did not let the device in, or no longer. */
  ended(refused: HeadwaterError | undefined): void;
}

export interface Login {
  readonly sourceId: string;
  readonly commands: readonly string[];
}

/** One connection of the real-time channel, from its first frame to its end. It is open once the server has let the device in. */
export interface Connection extends PointChannel {
  say(frame: Frame): void;
  close(): void;
}

export function connection(
  { url, apiKey }: Server,
  { sourceId, commands }: Login,
  listener: ConnectionListener,
  Socket: typeof WebSocket,
  { heartbeatMs, deadMs }: Patience = { heartbeatMs: 30_000, deadMs: 45_000 },
): Connection {
  const socket = new Socket(`${url.replace(/^http/, 'ws')}/ws/device`);
  const flights: Flight[] = [];
  let flyingBytes = 0;
  let lastSeq = 0;
  let isIn = false;
  let hasEnded = false;
  let refused: HeadwaterError | undefined;
  /** When something last came or went. */
  let aliveMs = monotonicMs();
  let sentMs = aliveMs;
  let unsent = 0;
  /** The end of the login, then the next look. */
  let limit = timer(loginMs, () => end(1006));

  socket.addEventListener('open', () =>
    say({ type: 'device_auth', api_key: apiKey, source_id: sourceId, acks: true, protocol: 1, commands }),
  );
  socket.addEventListener('message', ({ data }) => hear(objectIn(String(data))));
  socket.addEventListener('close', ({ code }) => end(code));
  // What is wrong is told by the close that follows.
  socket.addEventListener('error', () => undefined);

  function write(text: string): void {
    if (socket.readyState !== 1) return;
    sentMs = monotonicMs();
    socket.send(text);
  }

  const say = (frame: Frame): void => write(JSON.stringify(frame));

  function hear(frame: Heard & Refusal): void {
    if (hasEnded) return;
    aliveMs = monotonicMs();
    const { type, seq, code, detail, message } = frame;
    if (type === 'authenticated') {
      isIn = true;
      watch();
      listener.opened();
    } else if (type === 'telemetry_ack') land(seq!, 'stored');
    else if (type !== 'error') listener.heard(frame);
    else if (seq) land(seq, 'refused');
    else if (code) listener.failed(new HeadwaterError(detail!, code.toLowerCase()));
    else refused = notLetIn(message!);
  }

  /** Settles the frames up to this one. */
  function land(seq: number, outcome: Outcome): void {
    const count = flights.filter((flight) => flight.seq <= seq).length;
    for (const flight of flights.splice(0, count)) {
      flyingBytes -= flight.bytes;
      flight.landed(flight.seq === seq ? outcome : 'stored');
    }
    listener.landed();
  }

  /** Looks whether the connection lives, as often as it has to be asked. */
  function watch(): void {
    clearTimeout(limit);
    limit = timer(heartbeatMs / 6, () => {
      const nowMs = monotonicMs();
      if (socket.bufferedAmount < unsent) aliveMs = nowMs;
      unsent = socket.bufferedAmount;
      if (flights.length > 0 && nowMs - aliveMs > deadMs) return end(1006);
      if (nowMs - sentMs >= heartbeatMs) void send('');
      watch();
    });
  }

  const send = (points: string): Promise<Outcome> =>
    new Promise((landed) => {
      if (hasEnded || !isIn) return landed('unknown');
      // While nothing was due, silence meant nothing.
      if (flights.length === 0) aliveMs = monotonicMs();
      const seq = ++lastSeq;
      flights.push({ seq, bytes: points.length, landed });
      flyingBytes += points.length;
      write(`{"type":"telemetry","seq":${seq},"points":[${points}]}`);
    });

  function end(code: number): void {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(limit);
    socket.close();
    for (const { landed } of flights.splice(0)) landed('unknown');
    if (code === 1008) refused ??= notLetIn('The server does not let the device in.');
    if (!isIn && !refused && code !== 1000)
      listener.failed(new HeadwaterError(`The real-time channel to ${url} does not open (${code}).`, 'no_answer'));
    listener.ended(refused);
  }

  return {
    get isOpen() {
      return isIn && !hasEnded;
    },
    get hasRoom() {
      return flights.length < maxFrames && flyingBytes < maxFlyingBytes;
    },
    send,
    say,
    close: () => end(1000),
  };
}

const notLetIn = (message: string): HeadwaterError => new HeadwaterError(message, 'not_let_in');
