import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { GroupFile } from './group-file.js';
import { countPoints } from './point-scan.js';

/** How a floor reads a body: it only passes each byte once, or it parses the body as most servers would. */
export type Reading = 'scan' | 'parse';

const countedBy: Readonly<Record<Reading, (body: Buffer) => number>> = {
  scan: countPoints,
  parse: (body) => (JSON.parse(body.toString()) as { readonly points: readonly unknown[] }).points.length,
};

/**
 * The least work that any server written in Node has to do: collect the body, read it, append it, with one write and one fsync for all who
 * wait, answer. Nothing can be read from it but bytes: `GET /<bytes>` answers a body of that size made before.
 */
const [folder, reading, port] = process.argv.slice(2) as [string, Reading, string];
const file = await GroupFile.open(join(folder, 'floor.log'));
const prebuilt = new Map<number, Buffer>();

function reply(answer: ServerResponse, body: string | Buffer): void {
  answer.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

function accept(request: IncomingMessage, chunks: readonly Buffer[], answer: ServerResponse): void {
  const sent = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
  const points = countedBy[reading](body);
  file.append(body, () => reply(answer, `{"success":true,"points":${points}}`));
}

function read(request: IncomingMessage, answer: ServerResponse): void {
  const bytes = Number(request.url!.slice(1)) || 0;
  if (!prebuilt.has(bytes)) prebuilt.set(bytes, Buffer.alloc(bytes, 'x'));
  reply(answer, prebuilt.get(bytes)!);
}

const server = createServer((request, answer) => {
  if (request.method === 'GET') return read(request, answer);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => accept(request, chunks, answer));
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
