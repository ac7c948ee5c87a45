import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { hash } from 'node:crypto';
import { WebSocket } from 'ws';
import { textFrame } from './text-frame.js';

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A peer that does nothing but the handshake. */
async function handshaken(): Promise<{ readonly client: WebSocket; readonly raw: Socket; readonly close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [raw] = (await once(server, 'connection')) as [Socket];
  const [head] = (await once(raw, 'data')) as [Buffer];
  const [, key] = /^sec-websocket-key: (.+)\r$/im.exec(head.toString())!;
  const accept = hash('sha1', key! + guid, 'base64');
  raw.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  await once(client, 'open');
  const close = (): void => {
    client.terminate();
    raw.destroy();
    server.close();
  };
  return { client, raw, close };
}

it('a client reads texts of every length of a header', async () => {
  const { client, raw, close } = await handshaken();
  try {
    const texts = [
      '',
      'é',
      ...[125, 126, 127, 65_535, 65_536, 100_000].flatMap((bytes) => ['x'.repeat(bytes), `${'x'.repeat(bytes - 2)}é`]),
    ];
    const read: string[] = [];
    const all = new Promise<void>((resolve) => {
      client.on('message', (data: Buffer, isBinary) => {
        read.push(isBinary ? 'binary' : data.toString());
        if (read.length === texts.length) resolve();
      });
    });
    for (const text of texts) raw.write(textFrame(text));
    await all;
    expect(read).toEqual(texts);
  } finally {
    close();
  }
});
