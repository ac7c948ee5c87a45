import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Global, Module } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { WebSocketGateway, type OnGatewayConnection, type OnGatewayInit } from '@nestjs/websockets';
import type { FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket, type WebSocketServer } from 'ws';
import type { Caller } from '#model';
import { makeKey, MemoryLog, MemoryModule, until } from '#testing';
import { createHttpApp } from '../http-app.js';
import { KeyUses } from '../key-uses.js';
import { closeCodes, type LiveSocket, type Talk } from './live-socket.js';
import { Metrics } from '../metrics.js';
import { LiveSockets, SOCKET_LIMITS, type SocketLimits } from './live-sockets.js';

/** Says what it hears; `throw` breaks it. */
class Echo implements Talk {
  constructor(
    private readonly socket: LiveSocket,
    private readonly room: string,
    private readonly sockets: LiveSockets,
  ) {}

  coming(): void {
    this.socket.send(`${this.room}: much is coming`);
  }

  take(frame: Buffer): void {
    if (frame.toString() === 'throw') throw new Error('broken');
    if (frame.toString() === 'let me in') this.#admit();
    this.socket.send(`${this.room}: ${frame.toString()}`);
  }

  #admit(): void {
    try {
      this.sockets.admit(this.socket, caller);
    } catch (error) {
      this.socket.close(closeCodes.tryLater, (error as Error).message);
    }
  }

  late(): void {
    this.socket.close(closeCodes.policy, 'late');
  }

  revoked(): void {
    this.socket.close(closeCodes.policy, 'revoked');
  }

  finish(): void {
    this.socket.send('bye');
    this.socket.close(closeCodes.goingAway);
  }

  ended(): void {}
}

/** The client of this room has left when its socket is about to open. */
const left = 'left';

@WebSocketGateway({ path: '/rooms/:room/echo', maxPayload: 128 * 1024 })
class EchoGateway implements OnGatewayInit, OnGatewayConnection {
  constructor(private readonly sockets: LiveSockets) {}

  afterInit(webSockets: WebSocketServer): void {
    webSockets.on('asked', ({ params, raw }: FastifyRequest) => {
      if ((params as { room: string }).room === left) raw.socket.destroy();
    });
  }

  handleConnection(webSocket: WebSocket, incoming: FastifyRequest): void {
    const { room } = incoming.params as { room: string };
    this.sockets.open(webSocket, incoming, (socket) => new Echo(socket, room, this.sockets));
  }
}

let limits: Partial<SocketLimits> = {};
const noLimits: SocketLimits = { strangers: Infinity, ofKey: Infinity };
const limited = {
  provide: SOCKET_LIMITS,
  useValue: new Proxy(noLimits, { get: (_, name: keyof SocketLimits) => limits[name] ?? Infinity }),
};

@Global()
@Module({ providers: [EchoGateway, limited], exports: [limited] })
class EchoModule {}

let app: NestFastifyApplication;
let url: string;
let caller: Caller;
let aheadMs = 0;
/** The server's end of the newest connection. */
let server: Socket | undefined;

beforeAll(async () => {
  const log = new MemoryLog();
  const memory = MemoryModule.of(log, Date.now, () => performance.now() + aheadMs);
  app = await createHttpApp({ module: class Role {}, imports: [memory, EchoModule] });
  caller = (await makeKey(log, 'o', ['write'])).key;
  app.getHttpServer().on('connection', (connection: Socket) => (server = connection));
  await app.listen(0, '127.0.0.1');
  url = `ws://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});

afterAll(() => app.close());

const underWay = (): unknown =>
  app
    .get(Metrics)
    .all.find(({ name }) => name === 'headwater_requests_under_way')!
    .read();

const open = async (path: string): Promise<WebSocket> => {
  const socket = new WebSocket(url + path);
  await once(socket, 'open');
  return socket;
};

/** Writes the second half once the server has the first. */
async function inTwo(socket: WebSocket, frame: Buffer): Promise<void> {
  const { _socket: raw } = socket as unknown as { _socket: Socket };
  const { bytesRead } = server!;
  raw.write(frame.subarray(0, 3));
  await until('the first half has come', () => server!.bytesRead > bytesRead);
  raw.write(frame.subarray(3));
}

const closed = async (socket: WebSocket): Promise<number> => ((await once(socket, 'close')) as [number])[0];

describe('a WebSocket', () => {
  it('gets the parameters of its path, and speaks at once', async () => {
    const socket = await open('/rooms/blue/echo');
    socket.send('hello');
    expect(String(((await once(socket, 'message')) as [Buffer])[0])).toBe('blue: hello');
    socket.close();
    expect(await closed(socket)).toBe(1005);
  });

  it.each([
    ['of an error of ours', 'throw', 1011],
    ['of a binary frame', Buffer.from('hello'), 1003],
    ['of a first frame of more than 64 KiB', 'x'.repeat(65 * 1024), 1009],
    ['of a frame that is too large', 'x'.repeat(129 * 1024), 1009],
  ] as const)('is closed because %s, and no other', async (_, frame, code) => {
    const other = await open('/rooms/green/echo');
    const socket = await open('/rooms/blue/echo');
    socket.send(frame);
    expect(await closed(socket)).toBe(code);
    other.send('still there');
    expect(String(((await once(other, 'message')) as [Buffer])[0])).toBe('green: still there');
    other.close();
  });

  it('gets a ping every 30 s once it is let in, and is cut when it answers none of two', async () => {
    const [lively, dead] = [await open('/rooms/blue/echo'), await open('/rooms/blue/echo')];
    for (const socket of [lively, dead]) {
      socket.send('let me in');
      await once(socket, 'message');
    }
    dead.pause();
    for (let pings = 1; pings <= 2; pings++) {
      aheadMs += 30_000;
      await once(lively, 'ping');
    }
    aheadMs += 30_000;
    await once(lively, 'ping');
    dead.resume();
    expect(await closed(dead)).toBe(1006);
    lively.send('still there');
    expect(String(((await once(lively, 'message')) as [Buffer])[0])).toBe('blue: still there');
    lively.close();
  });

  it.each([
    ['pings', async (socket: WebSocket) => socket.ping('are you there')],
    ['pongs', async (socket: WebSocket) => socket.pong()],
    ['pongs in two chunks', (socket: WebSocket) => inTwo(socket, Buffer.of(0x8a, 0x80, 1, 2, 3, 4))],
  ])('is not taken for one on which a large frame comes, because of many %s', async (_, send) => {
    const socket = await open('/rooms/blue/echo');
    const said: string[] = [];
    socket.on('message', (data: Buffer) => said.push(data.toString()));
    const heard = async (text: string): Promise<void> => {
      socket.send(text);
      await until(text, () => said.at(-1) === `blue: ${text}`);
    };
    await heard('let me in');
    // Were their chunks counted, 85 of them would pass for a large frame.
    for (let times = 0; times < 100; times++) {
      await send(socket);
      socket.ping();
      await once(socket, 'pong');
    }
    await heard('small');
    expect(said).toEqual(['blue: let me in', 'blue: small']);
    socket.close();
  });

  it('of an address with too many on which nobody is let in is refused with 429, before it is one', async () => {
    const others = [await open('/rooms/blue/echo'), await open('/rooms/blue/echo')];
    limits = { strangers: 2 };
    const refused = new WebSocket(`${url}/rooms/blue/echo`).on('error', () => undefined);
    const [, { statusCode, headers }] = (await once(refused, 'unexpected-response')) as [unknown, import('node:http').IncomingMessage];
    expect([statusCode, headers['content-type'], Number(headers['retry-after']) > 0]).toEqual([429, 'application/problem+json', true]);
    others[0]!.send('let me in');
    await once(others[0]!, 'message');
    others.push(await open('/rooms/blue/echo'));
    limits = {};
    for (const socket of others) socket.terminate();
  });

  it('beyond those that its key may have is told so, and closed with 1013', async () => {
    limits = { ofKey: 1 };
    const [first, second] = [await open('/rooms/blue/echo'), await open('/rooms/blue/echo')];
    first.send('let me in');
    await once(first, 'message');
    second.send('let me in');
    const [code, reason] = (await once(second, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1013, 'Keep at most 1 sockets of one key open.']);
    limits = {};
    first.terminate();
  });

  it('that stays open uses its key again every 30 s', async () => {
    const socket = await open('/rooms/blue/echo');
    socket.send('let me in');
    await once(socket, 'message');
    const note = jest.spyOn(app.get(KeyUses), 'note');
    aheadMs += 30_000;
    await once(socket, 'ping');
    expect(note).toHaveBeenCalledWith(caller, '127.0.0.1');
    socket.close();
    await closed(socket);
  });

  it('on which nobody is let in for 10 s is closed', async () => {
    const socket = await open('/rooms/blue/echo');
    aheadMs += 10_000;
    expect(await closed(socket)).toBe(1008);
  });

  it.each([
    ['on a path without one', '/rooms', {}, 404],
    ['without a key', '/rooms/blue/echo', { 'sec-websocket-key': 'short' }, 400],
    ['of another version', '/rooms/blue/echo', { 'sec-websocket-version': '8' }, 400],
    ['with an empty name of a protocol', '/rooms/blue/echo', { 'sec-websocket-protocol': ',' }, 400],
    ['with a protocol twice', '/rooms/blue/echo', { 'sec-websocket-protocol': 'a, a' }, 400],
  ] as const)('that is asked for %s is refused with a problem', async (_, path, headers, status) => {
    const asked = request(url.replace('ws', 'http') + path, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        'sec-websocket-version': '13',
        ...headers,
      },
    });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    answer.resume();
    await once(answer, 'end');
    await until('nothing is under way', () => underWay() === 0);
  });

  it('whose client is gone before it is open is waited for no longer', async () => {
    const socket = new WebSocket(`${url}/rooms/${left}/echo`);
    await once(socket, 'error');
    await until('nothing is under way', () => underWay() === 0);
    expect(socket.readyState).toBe(WebSocket.CLOSED);
  });
});
