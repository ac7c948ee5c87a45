import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports that were given out: a server that is down keeps its port. */
const given = new Set<number>();

/**
 * Ports of 127.0.0.1 that nobody listens on, none of them given before. They lie below those that the system gives to outgoing connections: a client that
 * calls a server which is down cannot end up connected to itself.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

/** Whether nobody listens on a port of an address. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
