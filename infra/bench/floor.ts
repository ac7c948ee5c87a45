import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { GroupFile } from './group-file.js';

/**
 * The least work that any server written in Node has to do. `parse`: collect the body, JSON.parse, append, fsync once for all who wait, answer.
 * `collect`: collect the body and answer. `GET /<bytes>` answers a body of that size made before.
 */
const [folder, mode, port] = process.argv.slice(2) as [string, 'parse' | 'collect', string];
const file = await GroupFile.open(join(folder, 'floor.log'));
const receipt = '{"success":true}';
const prebuilt = new Map<number, Buffer>();

function accept(request: IncomingMessage, chunks: readonly Buffer[], answer: ServerResponse): void {
  const sent = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (mode === 'collect') {
    answer.writeHead(200, { 'content-type': 'application/json' }).end(receipt);
    return;
  }
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
  JSON.parse(body.toString('utf8'));
  file.append(body, () => answer.writeHead(200, { 'content-type': 'application/json' }).end(receipt));
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
