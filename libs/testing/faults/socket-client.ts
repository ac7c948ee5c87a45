import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';

/** What many sockets of one process do; each kind says on its output when it has begun, and ends with its input. */
type Kind = 'idle' | 'bytes' | 'strangers' | 'fragments' | 'deaf devices' | 'faithful devices' | 'viewers';

const [url, key, kind, countText] = process.argv.slice(2) as [string, string, Kind, string];
const count = Number(countText);
/** The listen queue is short: opening more at once makes connects fail. */
const together = 200;

const open = async (path: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace('http', 'ws') + path, {
    perMessageDeflate: false,
    // A pong between the bytes of a frame would be taken for some of them.
    autoPong: kind !== 'bytes',
  });
  await once(socket, 'open');
  socket.on('error', () => undefined);
  socket.on('close', (code) => {
    codes[code] = (codes[code] ?? 0) + 1;
    say('closed');
  });
  return socket;
};
const codes: Record<number, number> = {};

async function device(at: number): Promise<WebSocket> {
  const socket = await open('/ws/device');
  socket.send(JSON.stringify({ type: 'device_auth', api_key: key, source_id: `${kind.replace(' ', '-')}-${at}`, acks: true }));
  const closed = once(socket, 'close').then(() => Promise.reject(new Error('closed before it was let in')));
  const [answer] = (await Promise.race([once(socket, 'message'), closed])) as [Buffer];
  if (answer.includes('authenticated')) return socket;
  socket.terminate();
  throw new Error(answer.toString());
}

let seen = 0;
async function viewer(): Promise<WebSocket> {
  const socket = await open('/v1/sources/watched/metrics/stream');
  socket.send(JSON.stringify({ type: 'auth', api_key: key }));
  socket.once('message', () => {
    if (++seen === viewers) say('seen');
  });
  return socket;
}
const viewers = count / 2;
/** Of eleven viewers one reads nothing. */
const deaf = count / 11;

/** Waits before it connects again, as a client of this service does: longer each time, and never as long as the others. */
const maxDelayMs = { first: 500, max: 30_000 };
let connected = 0;

/** Comes back whenever it is cut off. */
async function stay(at: number): Promise<void> {
  for (let ms = maxDelayMs.first; ; ms = Math.min(2 * ms, maxDelayMs.max)) {
    const socket = await device(at).catch(() => undefined);
    if (socket?.readyState === WebSocket.OPEN) {
      socket.once('close', () => {
        connected--;
        void pause(Math.random() * maxDelayMs.first).then(() => stay(at));
      });
      if (++connected === count) say('connected');
      return;
    }
    await pause(Math.random() * ms);
  }
}

/** Longer than a viewer may be slow: counted from when the others have seen all. */
const deafMs = 15_000;
const allComplete = Promise.withResolvers<void>();
let complete = 0;
const eventsOfBody = 10;
/** Events received by all viewers that are not deaf, added up. */
let read = 0;

/**
 * Reads events until the one that says that it is the last; a deaf viewer reads nothing from the first on for a while. Prints `read` each time
 * that all the other viewers have received one more body.
 */
async function eventViewer(isDeaf: boolean): Promise<void> {
  const socket = await open('/v1/sources/watched/logs/stream?cursor=1');
  socket.send(JSON.stringify({ type: 'auth', api_key: key }));
  let events = 0;
  socket.on('message', (data: Buffer) => {
    const { type, metric, value } = JSON.parse(data.toString()) as {
      readonly type: string;
      readonly metric?: string;
      readonly value?: unknown;
    };
    if (type === 'event') {
      events++;
      if (!isDeaf && ++read % (eventsOfBody * (count - deaf)) === 0) say('read');
    }
    if (metric !== 'last') return;
    say(events === value ? 'complete' : `has seen ${events} of ${String(value)}`);
    if (++complete === count - deaf) allComplete.resolve();
  });
  await once(socket, 'message');
  if (!isDeaf) return;
  rawOf(socket).pause();
  // By then it is cut off, which it hears only when it reads again.
  void allComplete.promise.then(() => pause(deafMs)).then(() => rawOf(socket).resume());
}

const rawOf = (socket: WebSocket): Socket => (socket as unknown as { readonly _socket: Socket })._socket;

/** A text frame with a mask of zeros. */
function frameOf(text: string, opcode = 0x81): Buffer {
  const head =
    text.length < 126 ? Buffer.from([opcode, 0x80 | text.length]) : Buffer.from([opcode, 0xfe, text.length >> 8, text.length & 255]);
  return Buffer.concat([head, Buffer.alloc(4), Buffer.from(text)]);
}

/** One byte each time that the other side has had the time to read the one before. */
async function drip(socket: WebSocket, bytes: Buffer): Promise<void> {
  const raw = rawOf(socket).setNoDelay(true);
  for (let at = 0; at < bytes.length && !raw.destroyed; at++) {
    raw.write(bytes.subarray(at, at + 1));
    await pause(1);
  }
}

const points = JSON.stringify({ type: 'telemetry', seq: 1, points: [{ metric: 'm'.repeat(100), value: 1 }] });

const behaviours: Record<Kind, (at: number) => Promise<unknown>> = {
  idle: async (at) => (at % 2 === 0 ? device(at) : viewer()),
  bytes: async (at) => {
    const socket = await device(at);
    let acknowledged = 0;
    socket.on('message', () => (++acknowledged === 2 ? socket.close(1000) : say('acknowledged')));
    void drip(socket, Buffer.concat([frameOf(points), frameOf(points.padEnd(10_000))]));
  },
  strangers: async () => void drip(await open('/ws/device'), frameOf('{'.padEnd(60_000))),
  fragments: async (at) => {
    const socket = await device(at);
    void drip(socket, Buffer.concat([frameOf('{', 0x01), ...Array.from({ length: 100 }, () => frameOf(' ', 0x00))]));
  },
  'deaf devices': async (at) => {
    const socket = await device(at);
    rawOf(socket).pause();
    const frames = Buffer.concat(Array.from({ length: 1_000 }, () => frameOf(`{"type":"nonsense"}`)));
    const raw = rawOf(socket);
    const more = (): void => {
      while (!raw.destroyed && raw.write(frames));
    };
    raw.on('drain', more);
    more();
  },
  'faithful devices': (at) => stay(at),
  viewers: (at) => eventViewer(at < deaf),
};

let next = 0;
const begin = async (): Promise<void> => {
  while (next < count) await behaviours[kind](next++);
};
await Promise.all(Array.from({ length: Math.min(together, count) }, begin));
say('begun');
await once(createInterface(process.stdin), 'close');
say(`codes ${JSON.stringify(codes)}`);
process.exit(0);

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}
