import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { textFrame } from './text-frame.js';

it.each([0, 1, 125, 126, 65_535, 65_536, 200_000])('a text of %i bytes comes as one frame, between others', async (length) => {
  const text = 'é'.repeat(length / 2) + 'x'.repeat(length % 2);
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  try {
    await once(server, 'listening');
    server.on('connection', (socket, { socket: raw }) => {
      socket.send('before');
      raw.write(textFrame(text));
      socket.ping('a ping');
      raw.write(textFrame(text));
      socket.close(1000, 'after');
    });
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const came: string[] = [];
    client.on('message', (data: Buffer, isBinary) => came.push(`${isBinary} ${data.toString()}`));
    client.on('ping', (data) => came.push(data.toString()));
    await once(client, 'close');
    expect(came).toEqual(['false before', `false ${text}`, 'a ping', `false ${text}`]);
  } finally {
    server.close();
  }
});
