import { once } from 'node:events';
import { request, type Agent } from 'node:http';
import { json } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import type { Target } from './server-process.js';

/** Opened at a time: more than waits in the queue of a listening socket at once gains nothing. */
const openedTogether = 200;

/** Opens so many sockets. Resolves when all are open. */
export async function openAll(count: number, open: (at: number) => Promise<WebSocket>): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  let next = 0;
  const opening = async (): Promise<void> => {
    while (next < count) {
      const at = next++;
      sockets[at] = await open(at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, openedTogether) }, opening));
  return sockets;
}

/** A stream of one source. Nothing is sent back on success: whoever needs to know waits for a frame. */
export async function stream({ url, key }: Target, sourceId: string, kind: 'metrics' | 'logs'): Promise<WebSocket> {
  const socket = await opened(url, `/v1/sources/${sourceId}/${kind}/stream`);
  socket.send(JSON.stringify({ type: 'auth', api_key: key }));
  return socket;
}

/** A connected device. */
export async function device({ url, key }: Target, sourceId: string): Promise<WebSocket> {
  const socket = await opened(url, '/ws/device');
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ type: 'device_auth', api_key: key, source_id: sourceId, acks: true }));
  const [answer] = (await answered) as [Buffer];
  if (!answer.includes('authenticated')) throw new Error(`a device of the bench was not let in: ${answer.toString()}`);
  return socket;
}

async function opened(url: string, path: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, { perMessageDeflate: false, skipUTF8Validation: true });
  await once(socket, 'open');
  return socket.on('close', (code) => code !== ended && fail(`a socket of the bench was closed with ${code}: the run is void`));
}

const ended = 1005;

function fail(why: string): never {
  throw new Error(why);
}

/** Ends them all. Resolves when they are closed. */
export async function closeAll(sockets: readonly WebSocket[]): Promise<void> {
  await Promise.all(
    sockets.map((socket) => {
      const closed = once(socket, 'close');
      socket.close();
      return closed;
    }),
  );
}

/**
 * Posts JSON. Resolves with the answer. Rejects when it is refused. A server closes a connection that has been idle (node:http after 5 s): a
 * request that meets such a connection is sent again.
 */
export function post({ url, key }: Target, agent: Agent, path: string, body: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url + path, { agent, method: 'POST', headers }, (answer) => {
      const isGood = answer.statusCode! < 300;
      json(answer).then((said) => (isGood ? resolve(said) : reject(new Error(`${path}: ${JSON.stringify(said)}`))), reject);
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(post({ url, key }, agent, path, body));
      else reject(error);
    });
    sent.end(body);
  });
}
