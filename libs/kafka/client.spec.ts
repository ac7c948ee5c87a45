import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Line } from './client.js';

const more = 32 << 20;

describe('a line that is cut', () => {
  let line: Line;
  let server: Server;
  let ours: Socket;
  let theirs: Socket;
  let errors: string[];
  const open = (onConnect: () => void): Socket => {
    const { port } = server.address() as AddressInfo;
    const socket = line.open({ host: '127.0.0.1', port, ssl: {}, onConnect });
    return socket.on('error', ({ message }) => errors.push(message));
  };
  beforeEach(async () => {
    [line, errors] = [new Line(), []];
    // Until it reads, most of what is sent stays with the sender.
    server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connected = Promise.withResolvers<void>();
    ours = open(connected.resolve);
    [theirs] = (await once(server, 'connection')) as [Socket];
    await connected.promise;
  });
  afterEach(() => {
    ours.destroy();
    theirs.destroy();
    server.close();
  });

  it.each<[string, () => void]>([
    ['while it waits for an answer', () => ours.write('question')],
    ['while it writes more than can be sent', () => ours.write(Buffer.alloc(more))],
    ['when it has ended with more than can be sent', () => ours.end(Buffer.alloc(more))],
  ])('%s takes back what has not left', async (_, use) => {
    use();
    line.cut();
    await closed(ours);
    const ending = Promise.withResolvers<string | undefined>();
    theirs.on('end', () => ending.resolve('an end'));
    theirs.on('error', ({ code }: NodeJS.ErrnoException) => ending.resolve(code));
    theirs.resume();
    expect([await ending.promise, errors]).toEqual(['ECONNRESET', ['the line is cut']]);
  });

  it('right after its client has ended it leaves nothing open', async () => {
    ours.write('goodbye');
    ours.end();
    line.cut();
    await closed(ours);
    expect(errors).toEqual(['the line is cut']);
  });

  it.each<[string, () => Socket]>([
    [
      'while it connects',
      () => {
        const socket = open(() => undefined);
        line.cut();
        return socket;
      },
    ],
    [
      'before it connects',
      () => {
        line.cut();
        errors = [];
        return open(() => undefined);
      },
    ],
  ])('%s connects no more', async (_, connect) => {
    const socket = connect();
    await closed(socket);
    expect([socket.bytesWritten, errors]).toEqual([0, expect.arrayContaining(['the line is cut'])]);
  });
});

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));
