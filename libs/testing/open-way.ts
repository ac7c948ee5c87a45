import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

const silent = (): void => undefined;

/** Lets connections to a port of 127.0.0.1 through to a server, given as `host:port`. The first ones, so many as are `held`, hear nothing. */
export async function openWay(port: number, server: string, held = 0): Promise<Server> {
  const [host, to] = server.split(':') as [string, string];
  let taken = 0;
  const way = createServer((incoming) => {
    incoming.on('error', silent);
    if (taken++ < held) return;
    const outgoing = connect(Number(to), host);
    incoming.on('close', () => outgoing.destroy());
    outgoing.on('error', silent).on('close', () => incoming.destroy());
    incoming.pipe(outgoing).pipe(incoming);
  }).listen(port, '127.0.0.1');
  await once(way, 'listening');
  return way;
}
