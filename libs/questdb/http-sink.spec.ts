import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { forever } from '#model';
import { Authority } from '#testing';
import { HttpSink } from './http-sink.js';

const small = [Buffer.from('t,a=b value=1 1\n')];
/** More than the buffers between two sockets hold. */
const largeBytes = 32 << 20;
const large = Array.from({ length: 256 }, () => Buffer.alloc(largeBytes / 256));

/** What a server does once it has read the beginning of a request, for each connection in turn. */
type Behaviour = (socket: Socket) => void;
const accepts: Behaviour = (socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n');
const refuses: Behaviour = (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 3\r\n\r\nno!');
/** The TCP connection under one with TLS: only that can be reset. */
const underneath = new WeakMap<Socket, Socket>();
const reset = (socket: Socket): unknown => (underneath.get(socket) ?? socket).resetAndDestroy();
const refusesAndResets: Behaviour = (socket) => {
  socket.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 3\r\n\r\nno!', () => reset(socket));
};
const resetsWithinItsText: Behaviour = (socket) => {
  socket.write('HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nno', () => reset(socket));
};
const resets: Behaviour = (socket) => void reset(socket);

const authority = new Authority();

describe.each([
  ['A body that is sent over HTTP', false],
  ['A body that is sent over HTTPS', true],
])('%s', (_protocol, isTls) => {
  let behaviours: Behaviour[];
  let server: Server;
  let sink: HttpSink;
  const sockets = new Set<Socket>();
  beforeEach(async () => {
    let newest: Socket;
    const take = (socket: Socket): void => {
      underneath.set(socket, newest);
      const behave = behaviours.shift()!;
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('readable', () => {
        socket.read();
        behave(socket);
      });
    };
    server = isTls ? createTlsServer(authority.certify(), take) : createServer(take);
    server.prependListener('connection', (socket: Socket) => (newest = socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    sink = new HttpSink(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`, { tls: { ca: authority.cert } });
  });
  afterEach(async () => {
    sink.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  it.each<[string, Behaviour, readonly Buffer[], string, RegExp]>([
    ['is refused', refuses, small, 'none', /answers 400: no!/],
    ['is refused while it is being sent', refuses, large, 'none', /answers 400: no!/],
    ['is refused while it is being sent, and the connection reset', refusesAndResets, large, 'none|unknown', /answers 400: no!|no answer/],
    ['is refused with half a text', resetsWithinItsText, small, 'none|unknown', /answers 500|no answer/],
    ['is refused with half a text while it is being sent', resetsWithinItsText, large, 'none|unknown', /answers 500|no answer/],
    ['gets no answer', resets, small, 'unknown', /no answer/],
  ])('%s: the next one goes on', async (_, behaviour, body, outcome, message) => {
    behaviours = [behaviour, accepts];
    const refused = await sink.send(body, forever).catch((error: unknown) => error);
    expect(refused).toMatchObject({ outcome: expect.stringMatching(outcome), message: expect.stringMatching(message) });
    await sink.send(small, forever);
    expect(behaviours).toEqual([]);
  });

  it.each([
    ['waits for its answer', small, Infinity],
    ['is on its way', large, largeBytes],
  ])('%s: it goes no further once the lease is lost', async (_, body, most) => {
    let held = true;
    const end = Promise.withResolvers<{ readonly code: string; readonly bytes: number }>();
    behaviours = [
      (socket) => {
        socket.on('error', ({ code }: NodeJS.ErrnoException) => end.resolve({ code: code!, bytes: socket.bytesRead }));
        socket.on('end', () => end.resolve({ code: 'an end', bytes: socket.bytesRead })).resume();
        // With TLS the server of Node keeps the error of a reset to itself.
        if (isTls) socket.on('close', () => end.resolve({ code: 'ECONNRESET', bytes: socket.bytesRead }));
        held = false;
      },
    ];
    await expect(sink.send(body, { held: () => held })).rejects.toMatchObject({ outcome: 'unknown' });
    const { code, bytes } = await end.promise;
    expect(code).toBe('ECONNRESET');
    expect(bytes).toBeLessThan(most);
  });
});

describe('A lease that is lost while a body is being sent', () => {
  const text = Buffer.concat(small.concat(small));
  it.each<[string, readonly Buffer[]]>([
    ['one piece', [text]],
    ['two pieces', [...small, ...small]],
  ])('keeps the last byte of %s back, whichever look finds it lost', async (_, body) => {
    const bodies: string[] = [];
    const server = createHttpServer((request, response) => {
      const at = bodies.push('') - 1;
      request.on('data', (some: Buffer) => (bodies[at] += some.toString())).on('error', () => undefined);
      request.on('end', () => response.writeHead(204).end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let isSent = false;
    for (let looks = 1; !isSent; looks++) {
      let left = looks;
      const sink = new HttpSink(url);
      isSent = await sink.send(body, { held: () => left-- > 0 }).then(
        () => true,
        () => false,
      );
      sink.close();
    }
    server.close();
    expect(bodies.at(-1)).toBe(text.toString());
    expect(bodies.at(-2)).toBe(text.subarray(0, -1).toString());
  });
});

describe('Who we are', () => {
  it.each([
    ['a name and its password', { username: 'u', password: 'p:;w' }, `Basic ${Buffer.from('u:p:;w').toString('base64')}`],
    ['a token', { token: 't0' }, 'Bearer t0'],
  ])('is said with %s; when that is refused, nothing was written and the sentence says what to check', async (_, login, said) => {
    const heard: string[] = [];
    const server = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', (bytes: Buffer) => {
          heard.push(bytes.toString());
          socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno');
        }),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sink = new HttpSink(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, login);
    const refused = await sink.send(small, forever).catch((error: unknown) => error);
    sink.close();
    server.close();
    expect(refused).toMatchObject({
      outcome: 'none',
      message: expect.stringMatching(/^QuestDB refuses us \(401\): check HEADWATER_QUESTDB_USERNAME/),
    });
    expect(heard[0]).toContain(`authorization: ${said}\r\n`);
  });

  it('is said to nobody whose certificate we do not trust, and nothing was written', async () => {
    let bytes = 0;
    const server = createTlsServer(new Authority().certify(), (socket) => void socket.on('data', (some: Buffer) => (bytes += some.length)));
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sink = new HttpSink(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, { tls: { ca: authority.cert }, token: 't0' });
    const refused = await sink.send(small, forever).catch((error: unknown) => error);
    sink.close();
    server.close();
    expect(refused).toMatchObject({
      outcome: 'none',
      message: expect.stringContaining('no trusted authority has signed the certificate of'),
    });
    expect(bytes).toBe(0);
  });
});

/** A port on which nobody takes connections: once two wait, the kernel drops what asks for one more, as the host of a dead machine does. */
const silent = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

describe('A body for a host that is silent', () => {
  let worker: Worker;
  let sink: HttpSink;
  const waiting: Socket[] = [];
  beforeEach(async () => {
    worker = new Worker(silent, { eval: true });
    const [port] = (await once(worker, 'message')) as [number];
    sink = new HttpSink(`http://127.0.0.1:${port}`);
    for (const socket of [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]) {
      waiting.push(socket.on('error', () => undefined));
      await once(socket, 'connect');
    }
  });
  afterEach(async () => {
    sink.close();
    for (const socket of waiting.splice(0)) socket.destroy();
    await worker.terminate();
  });

  it('is not sent: that is known within seconds', async () => {
    await expect(sink.send(small, forever)).rejects.toMatchObject({ outcome: 'none' });
  }, 10_000);
});
