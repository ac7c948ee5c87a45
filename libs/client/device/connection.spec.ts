import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { Link, startEmbedded, until } from '#testing';
import { type Connection, connection as connectionTo, type Patience } from './connection.js';

let dataDir: string;
let server: Running;
let link: Link;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir });
  await server.opened;
  link = await Link.to(() => Number(new URL(server.url).port));
});

afterAll(async () => {
  link.close();
  await server.stop();
  await rm(dataDir, { recursive: true });
});

interface Opened {
  readonly connection: Connection;
  readonly ends: unknown[];
  readonly told: string[];
}

async function open(sourceId: string, patience?: Patience): Promise<Opened> {
  const ends: unknown[] = [];
  const told: string[] = [];
  const connection = connectionTo(
    { url: `http://127.0.0.1:${link.port}`, apiKey: server.firstKey },
    { sourceId, commands: [] },
    {
      opened: () => undefined,
      landed: () => undefined,
      heard: () => undefined,
      failed: ({ code }) => told.push(code),
      ended: (refused) => ends.push(refused),
    },
    WebSocket,
    patience,
  );
  await until('the device is let in', () => connection.isOpen);
  return { connection, ends, told };
}

/** Long enough that an answer of a disk that is slow for once is not too late. */
const brief: Patience = { heartbeatMs: 600, deadMs: 3000 };

const point = (at: number): string => `{"metric":"m","value":${at},"timestamp":${Date.now()}}`;

describe('a connection', () => {
  it('says of each frame how it ended, and has room for 32', async () => {
    const { connection, told } = await open('frames');
    const outcomes = [];
    for (let at = 0; at < 32; at++) outcomes.push(connection.send(at === 20 ? '{"metric":""}' : point(at)));
    expect(connection.hasRoom).toBe(false);
    expect(await Promise.all(outcomes)).toEqual(Array.from({ length: 32 }, (_, at) => (at === 20 ? 'refused' : 'stored')));
    expect(connection.hasRoom).toBe(true);
    expect(told).toEqual([]);
    connection.close();
    expect(await connection.send(point(1))).toBe('unknown');
  });

  it('ends when no answer comes any more, with a frame under way', async () => {
    const { connection, ends } = await open('half-open', brief);
    expect(await connection.send(point(1))).toBe('stored');
    link.holdAnswers();
    expect(await connection.send(point(2))).toBe('unknown');
    expect(ends).toEqual([undefined]);
    link.cut();
  });

  it('notices that when nothing is sent either, and lives on for as long as answers come', async () => {
    const { connection, ends } = await open('quiet', brief);
    const beganMs = performance.now();
    await until('it would be dead without answers', () => performance.now() - beganMs > 4500);
    expect(ends).toEqual([]);
    link.holdAnswers();
    await until('it has ended', () => ends.length > 0);
    expect(ends).toEqual([undefined]);
    expect(connection.isOpen).toBe(false);
    link.cut();
  });
});
