import { once } from 'node:events';
import { connect, createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer, type TlsOptions as ServerOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Authority } from '#testing';
import { onceOpen, openSocket, resetSocket, type TlsOptions } from './open-socket.js';

const authority = new Authority();
const stranger = new Authority('another authority');
const server = authority.certify();
const dayMs = 86_400_000;
const more = 32 << 20;

const listening: Server[] = [];
const theirs = new Set<Socket>();
afterEach(() => {
  for (const socket of theirs) socket.destroy();
  for (const one of listening.splice(0)) one.close();
});

async function listen(one: Server): Promise<number> {
  listening.push(one);
  one.on('connection', (socket: Socket) => theirs.add(socket.on('error', () => undefined)));
  one.on('tlsClientError', () => undefined);
  one.listen(0, '127.0.0.1');
  await once(one, 'listening');
  return (one.address() as AddressInfo).port;
}

/** What becomes of a connection: what it hears first, or why it fails. */
async function outcome(port: number, tls: TlsOptions, host = '127.0.0.1'): Promise<string> {
  const socket = openSocket({ host, port, tls });
  let isOpen = false;
  onceOpen(socket, () => (isOpen = true));
  const heard = await new Promise<string>((resolve) => {
    socket.on('data', (bytes: Buffer) => resolve(`${isOpen ? 'open' : 'not open'}: ${bytes.toString()}`));
    socket.on('error', ({ message }) => resolve(message.replace(`:${port}`, '')));
    socket.on('close', () => resolve('closed'));
  });
  socket.destroy();
  return heard;
}

const greets = (options: ServerOptions): Server =>
  createServer(options, (socket) => void socket.on('error', () => undefined).write('hello'));

describe('a connection with TLS', () => {
  it('opens to a server that the authority vouches for, by address and by name', async () => {
    const port = await listen(greets(server));
    expect(await outcome(port, { ca: authority.cert })).toBe('open: hello');
    // It may have an address that nobody listens on.
    expect(await outcome(port, { ca: authority.cert }, 'localhost')).toBe('open: hello');
  });

  it.each<[string, ServerOptions, TlsOptions, string]>([
    [
      'another authority has signed it',
      stranger.certify(),
      { ca: authority.cert },
      'no trusted authority has signed the certificate of 127.0.0.1, so check the setting that names the CA',
    ],
    ['no CA is named', server, {}, 'no trusted authority has signed the certificate of 127.0.0.1, so check the setting that names the CA'],
    [
      'it has expired',
      authority.certify({ fromMs: Date.now() - 2 * dayMs, toMs: Date.now() - dayMs }),
      { ca: authority.cert },
      'the certificate of 127.0.0.1 has expired, so renew it there',
    ],
    [
      'it is of tomorrow',
      authority.certify({ fromMs: Date.now() + dayMs, toMs: Date.now() + 2 * dayMs }),
      { ca: authority.cert },
      'the certificate of 127.0.0.1 is not valid yet, so compare the clocks',
    ],
    [
      'it is for another name',
      authority.certify({ names: ['kafka.example'] }),
      { ca: authority.cert },
      'the certificate of 127.0.0.1 is for other names, so connect by one that it has',
    ],
    [
      'the server wants one of ours',
      { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
      { ca: authority.cert },
      '127.0.0.1 wants a client certificate that it trusts',
    ],
  ])('says in a sentence why the certificate is refused: %s', async (_, options, tls, sentence) => {
    const port = await listen(createServer(options, (socket) => void socket.on('error', () => undefined)));
    expect(await outcome(port, tls)).toBe(sentence);
  });

  it('shows a certificate of ours to a server that asks for it', async () => {
    const port = await listen(greets({ ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: true }));
    expect(await outcome(port, { ca: authority.cert, ...authority.certify({ names: ['us'] }) })).toBe('open: hello');
  });

  it.each<[string, (socket: Socket) => void, string]>([
    [
      'answers in plain text',
      (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
      '127.0.0.1 and we do not agree on TLS: is this its port for TLS?',
    ],
    ['hangs up', (socket) => void socket.destroy(), '127.0.0.1 ends the connection before TLS begins: is this its port for TLS?'],
  ])('says in a sentence that a port is not for TLS: it %s', async (_, behave, sentence) => {
    const port = await listen(createPlainServer((socket) => void socket.once('data', () => behave(socket))));
    expect(await outcome(port, { ca: authority.cert })).toBe(sentence);
  });

  it('says that nobody listens as one without TLS does', async () => {
    const port = await listen(createPlainServer());
    listening.pop()!.close();
    expect(await outcome(port, {})).toMatch(/^connect ECONNREFUSED/);
  });
});

describe.each<[string, TlsOptions | undefined]>([
  ['a plain connection that is reset', undefined],
  ['a connection with TLS that is reset', { ca: authority.cert }],
])('%s', (_, tls) => {
  let socket: Socket;
  let errors: string[];
  /** The other end of the connection, as TCP sees it, and what it leads to, which reads little. */
  let near: Socket;
  let far: Socket;
  beforeEach(async () => {
    const take = (one: Socket): void => void one.on('error', () => undefined).pause();
    const behind = await listen(tls ? createServer(server, take) : createPlainServer(take));
    const port = await listen(
      createPlainServer((incoming) => {
        [near, far] = [incoming, connect(behind, '127.0.0.1').on('error', () => undefined)];
        near.pipe(far).pipe(near);
      }),
    );
    errors = [];
    socket = openSocket({ host: '127.0.0.1', port, tls }).on('error', ({ message }) => errors.push(message));
    await new Promise<void>((resolve) => onceOpen(socket, resolve));
    if (!near) await once(listening.at(-1)!, 'connection');
  });
  afterEach(() => void far.destroy());

  it.each<[string, () => void]>([
    ['while it waits for an answer', () => socket.write('question')],
    ['while it writes more than can be sent', () => socket.write(Buffer.alloc(more))],
    ['when it has ended with more than can be sent', () => socket.end(Buffer.alloc(more))],
    ['right after it has ended', () => socket.end('goodbye')],
  ])('takes back what has not left: %s', async (_when, use) => {
    const ended = Promise.withResolvers<string | undefined>();
    near.on('error', ({ code }: NodeJS.ErrnoException) => ended.resolve(code)).on('close', () => ended.resolve('an end'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    use();
    resetSocket(socket, new Error('enough'));
    await closed;
    near.unpipe(far).resume();
    const code = await ended.promise;
    // What TLS still wants to write fails after that.
    expect([errors[0], socket.destroyed, near.bytesRead < more]).toEqual(['enough', true, true]);
    // The end of what it has sent may overtake the reset.
    expect(code).toMatch(socket.writableFinished ? /^(ECONNRESET|an end)$/ : /^ECONNRESET$/);
  });
});

describe('a connection with TLS that is reset early', () => {
  it('is over at once while it connects, and while it greets', async () => {
    const port = await listen(createPlainServer());
    for (const wait of [false, true]) {
      const socket = openSocket({ host: '127.0.0.1', port, tls: {} });
      const errors: string[] = [];
      socket.on('error', ({ message }) => errors.push(message));
      if (wait) await once(listening[0]!, 'connection');
      const closed = new Promise((resolve) => socket.once('close', resolve));
      resetSocket(socket, new Error('enough'));
      await closed;
      expect([wait, errors[0]]).toEqual([wait, 'enough']);
    }
  });
});
