import { once } from 'node:events';
import { writeFile, mkdtemp } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KafkaMessage } from 'kafkajs';
import { partitionOf } from '#log';
import type { Source } from '#model';
import { until } from '#testing';
import { AvroCodec, schemaVersions, sources } from '#topics';
import { ConfluentRegistry } from '../registry/confluent-registry.js';
import { Lane } from './lane.js';

const source: Source = { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 2, heardIn: null };
const key = Buffer.from('o/s');
const partition = partitionOf(key, sources.partitions);

const schema = schemaVersions(sources.schema).at(-1);
const theirs = 7;
const answer = (body: unknown, status = 200): Answer => ({ status, body: JSON.stringify(body) });

interface Answer {
  readonly status: number;
  readonly body: string;
}

describe('a record with a schema id that is not known', () => {
  let server: Server;
  /** To a question about the schema; the connection is cut for want of one. */
  let said: Answer | undefined;
  let url: string;
  let registered: number;
  let taken: unknown[];
  let unreadable: string[];
  const ended = new AbortController();
  beforeEach(async () => {
    [taken, unreadable, registered] = [[], [], 0];
    server = createServer((request, response) => {
      // Each version of our schema gets a number of its own, from 1 on.
      const now = request.method === 'GET' ? said : answer({ id: ++registered });
      if (now) response.writeHead(now.status).end(now.body);
      else request.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const lane = async (cachePath?: string, report: (message: string) => void = () => undefined): Promise<Lane> => {
    const registry = new ConfluentRegistry({ url, ...(cachePath !== undefined && { cacheFile: { path: cachePath, report } }) });
    const codec = await AvroCodec.open(registry, [sources]);
    const bytes = codec.encode(sources, source);
    bytes.writeUInt32BE(theirs, 1);
    const message: KafkaMessage = { key, value: bytes, offset: '0', timestamp: '1', attributes: 0, headers: {} };
    const receiver = {
      take: (records: readonly { readonly value: unknown }[]): void => void taken.push(...records.map(({ value }) => value)),
      unreadable: ({ reason }: { readonly reason: string }): void => void unreadable.push(reason),
    };
    const made = new Lane({
      topic: sources,
      partition,
      from: 0,
      codec,
      receiver,
      ended: ended.signal,
      progress: () => undefined,
    });
    made.push([message], 1);
    return made;
  };

  it.each<[string, Answer | undefined]>([
    ['nothing', undefined],
    ['that it is in trouble', answer({ error_code: 50001, message: 'no store' }, 500)],
    ['that it knows no such user', answer({ error_code: 401, message: 'who?' }, 401)],
    ['that this user may not', answer({ error_code: 403, message: 'no' }, 403)],
    ['through something before it that there is no such page', answer({ message: 'no' }, 404)],
    ['through something before it what is not JSON', { status: 200, body: '<html>' }],
    ['no schema', answer({})],
    ['null', answer(null)],
  ])('waits while the registry says %s', async (_, first) => {
    said = first;
    const waiting = await lane();
    await until('it knows why it waits', () => waiting.failure !== undefined);
    said = answer({ schema });
    await until('it is handed over', () => taken.length + unreadable.length > 0);
    expect([taken, unreadable, waiting.failure]).toEqual([[source], [], undefined]);
  });

  it.each([
    ['that there is none', answer({ error_code: 40403, message: 'no' }, 404), 'the registry has no schema with id 7'],
    ['what our type cannot read', answer({ schema: '"string"' }), 'the schema with id 7 does not fit the topic'],
    ['what is no schema', answer({ schema: 'message A {}' }), 'the schema with id 7 does not fit the topic'],
  ])('is refused when the registry says %s', async (_, first, reason) => {
    said = first;
    await lane();
    await until('it is handed over', () => taken.length + unreadable.length > 0);
    expect([taken, unreadable]).toEqual([[], [expect.stringContaining(reason)]]);
  });

  it('is read although the schema cannot be kept, which is told once', async () => {
    said = answer({ schema });
    const notAFolder = join(await mkdtemp(join(tmpdir(), 'headwater-schemas-')), 'file');
    await writeFile(notAFolder, '');
    const reports: string[] = [];
    await lane(join(notAFolder, 'schemas.json'), (message) => reports.push(message));
    await until('it is handed over', () => taken.length + unreadable.length > 0);
    expect([taken, unreadable]).toEqual([[source], []]);
    expect(reports).toEqual([expect.stringContaining('the file of schemas cannot be written')]);
  });
});

describe('what waits for a receiver', () => {
  it('counts with its key and its headers', async () => {
    const registry = { register: async (): Promise<number> => 1, schema: async (): Promise<undefined> => undefined };
    const codec = await AvroCodec.open(registry, [sources]);
    const gate = Promise.withResolvers<void>();
    const receiver = { take: () => gate.promise, unreadable: () => gate.promise };
    const ended = new AbortController();
    const lane = new Lane({
      topic: sources,
      partition,
      from: 0,
      codec,
      receiver,
      ended: ended.signal,
      progress: () => undefined,
    });
    const plain = { timestamp: '1', attributes: 0, value: Buffer.alloc(0) };
    const headers = { one: Buffer.alloc(2_000), many: [Buffer.alloc(300), 'x'.repeat(40)], none: undefined };
    lane.push([{ ...plain, key, offset: '0', headers: {} }], 1);
    lane.push([{ ...plain, key: Buffer.alloc(10_000), offset: '1', headers }], 2);
    const bytes = lane.waitingBytes;
    gate.resolve();
    await lane.settled();
    expect([bytes, lane.waitingBytes]).toEqual([12_340 + 'one'.length + 2 * 'many'.length + 100, 0]);
  });
});
