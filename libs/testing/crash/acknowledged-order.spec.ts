import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { endWithUs } from '../../../infra/servers/index.js';
import { eventually } from '../eventually.js';
import { send } from '../http/send.js';
import { ServerProcess } from './server-process.js';

const bodies = 400;
const connections = 16;

/** Where this tool is installed, it tells every call of the system that a process makes. */
const hasStrace = process.platform === 'linux' && spawnSync('strace', ['-V']).status === 0;
const itTraced = hasStrace ? it : it.skip;

/** What the calls say of the answers to requests that append something. */
interface Order {
  readonly answers: number;
  /** Answers that went out before the log was written since their request came. */
  readonly early: readonly string[];
}

/** Goes through the calls in their order: a request, a write to the journal that begins after it, the end of that write, the answer. */
function orderOf(trace: string): Order {
  const askedAt = new Map<string, number>();
  /** By thread: the socket of its last call, and where its write to the journal began. */
  const sockets = new Map<string, string>();
  const writing = new Map<string, number>();
  const early: string[] = [];
  let [answers, durable] = [0, -1];
  for (const [at, line] of trace.split('\n').entries()) {
    const [, thread, call] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (thread === undefined || call === undefined) continue;
    const named = /^(?:read|writev?)\((\d+)/.exec(call)?.[1];
    if (named !== undefined) sockets.set(thread, named);
    // The second line of a call that was interrupted in the trace does not name the socket.
    const socket = sockets.get(thread) ?? '';
    if (/^(?:read\(|<\.\.\. read resumed>).*"POST /.test(call)) askedAt.set(socket, at);
    if (/^pwrite64\(\d+<[^>]*\.journal>/.test(call)) writing.set(thread, at);
    if (/pwrite64.*= \d+$/.test(call) && writing.has(thread)) {
      durable = Math.max(durable, writing.get(thread)!);
      writing.delete(thread);
    }
    if (/^writev?\(\d+.*"HTTP\/1\.1 2/.test(call) && askedAt.has(socket)) {
      answers++;
      if (durable < askedAt.get(socket)!) early.push(line);
      askedAt.delete(socket);
    }
  }
  return { answers, early };
}

/** How a process has its journal open: with O_DSYNC, a write ends when the disk has it. */
function journalFlags(pid: number): number {
  const file = readdirSync(`/proc/${pid}/fd`).find((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith('.journal'));
  return parseInt(/flags:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/${file}`, 'utf8'))![1]!, 8);
}

itTraced('no request is answered before what it brought is on the disk', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'headwater-order-'));
  const server = await ServerProcess.on(join(dir, 'data'));
  await server.start();
  const headersNow = (): Record<string, string> => ({ 'x-api-key': server.key ?? '', 'content-type': 'application/json' });
  await eventually(async () => expect((await send(server.url, { path: '/v1/sources', headers: headersNow() })).status).toBe(200));
  const headers = headersNow();
  expect(journalFlags(server.pid!) & constants.O_DSYNC).toBe(constants.O_DSYNC);
  const trace = join(dir, 'trace');
  const tracer = spawn('strace', ['-f', '-y', '-s', '16', '-e', 'trace=read,write,writev,pwrite64', '-o', trace, '-p', `${server.pid}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  endWithUs(tracer);
  await once(tracer.stderr, 'data');
  const post = async (n: number): Promise<number> => {
    const body = JSON.stringify({ source_id: `s-${n}`, points: [{ metric: 'm', value: n, timestamp: 1_700_000_000_000 + n }] });
    return (await send(server.url, { method: 'POST', path: '/ingest', headers, body })).status;
  };
  const statuses = new Set<number>();
  const one = async (first: number): Promise<void> => {
    for (let n = first; n < bodies; n += connections) statuses.add(await post(n));
  };
  await Promise.all(Array.from({ length: connections }, (_, first) => one(first)));
  const ended = once(tracer, 'exit');
  tracer.kill('SIGINT');
  await ended;
  await server.stop();
  expect([...statuses]).toEqual([200]);
  expect(orderOf(await readFile(trace, 'utf8'))).toEqual({ answers: bodies, early: [] });
  await rm(dir, { recursive: true });
});
