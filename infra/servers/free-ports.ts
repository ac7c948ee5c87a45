import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports of 127.0.0.1 that nobody listens on, all different. They lie below those that the system gives to outgoing connections: a server that
 * is down keeps its port, and a client that calls it meanwhile cannot end up connected to itself.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Whether nobody listens on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
