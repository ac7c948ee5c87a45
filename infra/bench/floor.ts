import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/**
 * The least work that any server written in Node has to do. `parse`: collect the body, JSON.parse, append, fsync once for all who wait, answer.
 * `collect`: collect the body and answer. `GET /<bytes>` answers a body of that size made before.
 */
const [folder, mode, port] = process.argv.slice(2) as [string, 'parse' | 'collect', string];
const file = await open(join(folder, 'floor.log'), 'a');
const receipt = '{"success":true}';
const prebuilt = new Map<number, Buffer>();

let waiting: { body: Buffer; answer: ServerResponse }[] = [];
let syncing = false;

async function sync(): Promise<void> {
  syncing = true;
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    await file.writev(group.map(({ body }) => body));
    await file.datasync();
    for (const { answer } of group) answer.writeHead(200, { 'content-type': 'application/json' }).end(receipt);
  }
  syncing = false;
}

function accept(request: IncomingMessage, chunks: readonly Buffer[], answer: ServerResponse): void {
  const sent = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (mode === 'collect') {
    answer.writeHead(200, { 'content-type': 'application/json' }).end(receipt);
    return;
  }
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
  JSON.parse(body.toString('utf8'));
  waiting.push({ body, answer });
  if (!syncing) void sync();
}

function read(request: IncomingMessage, answer: ServerResponse): void {
  const bytes = Number(request.url!.slice(1)) || 0;
  if (!prebuilt.has(bytes)) prebuilt.set(bytes, Buffer.alloc(bytes, 'x'));
  answer.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes }).end(prebuilt.get(bytes));
}

const server = createServer((request, answer) => {
  if (request.method === 'GET') return read(request, answer);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => accept(request, chunks, answer));
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
