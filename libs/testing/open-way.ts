import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { Transform } from 'node:stream';

const silent = (): void => undefined;

/**
 * Lets connections to a port of 127.0.0.1 through to a server, given as `host:port`. The first ones, so many as are `held`, hear nothing.
 *
 * @param told what is heard in place of some bytes of an answer, one character a byte.
 */
export async function openWay(port: number, server: string, held = 0, told = (answer: string): string => answer): Promise<Server> {
  const [host, to] = server.split(':') as [string, string];
  let taken = 0;
  const way = createServer((incoming) => {
    incoming.on('error', silent);
    if (taken++ < held) return;
    const outgoing = connect(Number(to), host);
    incoming.on('close', () => outgoing.destroy());
    outgoing.on('error', silent).on('close', () => incoming.destroy());
    const transform = (bytes: Buffer, _: unknown, done: (error: null, answer: Buffer) => void): void =>
      done(null, Buffer.from(told(bytes.toString('latin1')), 'latin1'));
    incoming.pipe(outgoing).pipe(new Transform({ transform })).pipe(incoming);
  }).listen(port, '127.0.0.1');
  await once(way, 'listening');
  return way;
}
