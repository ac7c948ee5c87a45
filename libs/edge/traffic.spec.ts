import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Metrics } from './metrics.js';
import { Traffic } from './traffic.js';

/** A server with one socket on it, which says `bye` and ends when the process stops. */
async function serve(traffic: Traffic) {
  const server = createServer();
  server.on('upgrade', (_request, socket: Socket) => {
    const end = traffic.begin(() => socket.end('bye'));
    socket.on('error', () => undefined).once('close', end);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ port, host: '127.0.0.1', headers: { connection: 'upgrade', upgrade: 'websocket' } }).end();
  const [, socket] = (await once(outgoing, 'upgrade')) as [unknown, Socket];
  return { server, socket };
}

it('a stop has sockets finish, and waits until they have', async () => {
  const traffic = new Traffic(new Metrics());
  const { server, socket } = await serve(traffic);
  let isOver = false;
  const over = traffic.drain(server).then(() => (isOver = true));
  expect((await buffer(socket)).toString()).toBe('bye');
  expect(isOver).toBe(false);
  socket.destroy();
  await over;
});

it('what begins while the process stops is finished at once', async () => {
  const traffic = new Traffic(new Metrics());
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const end = traffic.begin();
  const over = traffic.drain(server);
  let isFinished = false;
  const endSecond = traffic.begin(() => (isFinished = true));
  await Promise.resolve();
  expect(isFinished).toBe(true);
  end();
  endSecond();
  await over;
});
