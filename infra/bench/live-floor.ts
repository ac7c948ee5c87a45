import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { GroupFile } from './group-file.js';

/**
 * The least work that a server of live connections written in Node has to do, on node:http and ws: what it takes it parses and appends, with
 * one fsync for all who wait, and only then answers, and forwards it to the sockets that watch, as a text that is made once. A command is kept
 * before it is handed to its device, and its outcome before watchers see it. No checks, no keys, no limits; it pings as the server does.
 */
const [folder, port] = process.argv.slice(2) as [string, string];
const file = await GroupFile.open(join(folder, 'floor.log'));
const pingMs = 30_000;

/** By what is watched, such as `bench-1/metrics`. */
const watchers = new Map<string, Set<WebSocket>>();
const devices = new Map<string, WebSocket>();
let commands = 0;

interface Points {
  readonly points: readonly { readonly source_id: string }[];
}

interface Outcome {
  readonly type: string;
  readonly id: string;
  readonly command: string;
  readonly event: string;
  readonly result: unknown;
}

function forward(to: string, message: () => object): void {
  const sockets = watchers.get(to);
  if (!sockets) return;
  const frame = Buffer.from(JSON.stringify(message()));
  for (const socket of sockets) socket.send(frame, { binary: false });
}

function reply(answer: ServerResponse, body: object): void {
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function takePoints(body: Buffer, answer: ServerResponse): void {
  const { points } = JSON.parse(body.toString()) as Points;
  file.append(body, () => {
    reply(answer, { success: true });
    for (const [source, its] of Map.groupBy(points, ({ source_id }) => source_id))
      forward(`${source}/metrics`, () => ({ type: 'telemetry', points: its.map((point) => ({ class: 'metric', ...point })) }));
  });
}

function takeCommand(sourceId: string, body: Buffer, answer: ServerResponse): void {
  const { command, params } = JSON.parse(body.toString()) as Record<string, unknown>;
  const id = `${++commands}`;
  file.append(body, () => {
    devices.get(sourceId)!.send(JSON.stringify({ type: 'typed_command', id, command, params }));
    reply(answer, { queued: true, id });
  });
}

/** Heartbeats are read too. */
function takeFrame(sourceId: string, data: Buffer): void {
  const { type, id, command, event, result } = JSON.parse(data.toString()) as Outcome;
  if (type !== 'command_result') return;
  const value = { id, command, event, result };
  file.append(data, () => forward(`${sourceId}/logs`, () => ({ type: 'event', source_id: sourceId, metric: 'command.result', value })));
}

/** The first frame is believed. */
function begin(url: string, socket: WebSocket, first: string): void {
  const pings = setInterval(() => socket.ping(), pingMs);
  socket.on('close', () => clearInterval(pings));
  if (url === '/ws/device') {
    const { source_id } = JSON.parse(first) as { readonly source_id: string };
    devices.set(source_id, socket);
    socket.on('message', (data: RawData) => takeFrame(source_id, data as Buffer));
    socket.send(JSON.stringify({ type: 'authenticated', source_id, server_time_ms: Date.now(), acks: true }));
    return;
  }
  const [, sourceId, kind] = /^\/v1\/sources\/([^/]+)\/(metrics|logs)\/stream$/.exec(url)!;
  const watched = `${sourceId}/${kind}`;
  if (!watchers.has(watched)) watchers.set(watched, new Set());
  watchers.get(watched)!.add(socket);
  socket.on('close', () => watchers.get(watched)!.delete(socket));
}

function accept({ url }: IncomingMessage, body: Buffer, answer: ServerResponse): void {
  const [, sourceId] = /^\/v1\/sources\/([^/]+)\/commands$/.exec(url!) ?? [];
  if (sourceId) takeCommand(sourceId, body, answer);
  else takePoints(body, answer);
}

const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false });
const server = createServer((request, answer) => {
  if (request.method === 'GET') return reply(answer, {});
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => accept(request, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), answer));
});
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (one) => {
    one.once('message', (data: Buffer) => begin(request.url!, one, data.toString()));
  });
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
