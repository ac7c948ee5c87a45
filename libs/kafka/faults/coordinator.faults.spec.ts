import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePorts, startKafka, type KafkaServers } from '../../../infra/servers/index.js';
import { describeOnOwnServers, until } from '#testing';
import { AvroCodec, sources } from '#topics';
import { Asker } from '../asker.js';
import { Fetcher } from '../fetch/fetcher.js';
import { Member } from '../group/member.js';
import { GuardedProducer } from '../send/guarded-producer.js';

const joinGroup = 11;
const heartbeat = 12;
const coordinatorIsLoading = 14;
const notCoordinator = 16;

/** The way to a broker, on which requests can be answered as a coordinator does that has just been started. */
class Coordinator {
  /** Codes of errors, each for the next request of its kind. */
  readonly answers = new Map<number, number>();

  private constructor(private readonly server: Server) {}

  static async before(port: number): Promise<Coordinator> {
    const server = createServer().listen(0, '127.0.0.1');
    const coordinator = new Coordinator(server);
    server.on('connection', (near) => coordinator.#join(near, connect(port, '127.0.0.1')));
    await once(server, 'listening');
    return coordinator;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.server.close();
  }

  #join(near: Socket, far: Socket): void {
    far.pipe(near);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    let left = Buffer.alloc(0);
    near.on('data', (bytes: Buffer) => {
      left = Buffer.concat([left, bytes]);
      for (let end = endOf(left); left.length >= end; end = endOf(left)) {
        this.#pass(left.subarray(0, end), near, far);
        left = left.subarray(end);
      }
    });
  }

  /** A request: its length, its kind, its version, its number, and the rest. */
  #pass(request: Buffer, near: Socket, far: Socket): void {
    const kind = request.readInt16BE(4);
    const error = this.answers.get(kind);
    if (error === undefined) return void far.write(request);
    this.answers.delete(kind);
    near.write(refusal(request.readInt32BE(8), error));
  }
}

const endOf = (bytes: Buffer): number => (bytes.length < 4 ? Infinity : 4 + bytes.readInt32BE(0));

/** Length, number of the request, time to wait, error; and for who reads on a generation, three empty names and no members. */
function refusal(request: number, error: number): Buffer {
  const answer = Buffer.alloc(4 + 4 + 4 + 2 + 4 + 3 * 2 + 4);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(request, 4);
  answer.writeInt16BE(error, 12);
  return answer;
}

describeOnOwnServers('a coordinator', () => {
  let kafka: KafkaServers;
  let coordinator: Coordinator;
  let asker: Asker;
  let producer: GuardedProducer;
  beforeAll(async () => {
    const [port] = await freePorts(1);
    coordinator = await Coordinator.before(port!);
    const folder = await mkdtemp(join(tmpdir(), 'headwater-kafka-'));
    kafka = await startKafka({ folder, brokers: 1, ports: [port!], advertised: [coordinator.port] });
    asker = new Asker(kafka);
    producer = new GuardedProducer(kafka);
  }, 120_000);
  afterAll(async () => {
    await producer?.close();
    await asker?.close();
    coordinator?.close();
    await kafka?.stop();
  }, 60_000);

  it('that still loads when a member joins again holds it up for no longer than a heartbeat', async () => {
    await asker.ask((admin) => admin.createTopics({ topics: [{ topic: 'read', numPartitions: 1 }] }));
    const taken: string[] = [];
    const fetcher = new Fetcher(kafka, { isLasting: true });
    const member = new Member({
      address: kafka,
      asker,
      fetcher,
      group: 'group',
      topics: new Map([['read', sources]]),
      codec: await AvroCodec.open({ register: async () => 1, schema: async () => undefined }, []),
      // Without a word of the group it would be given up only after twice that time.
      sessionMs: 30_000,
      startsAt: async () => () => 0,
      receiver: () => ({
        take: () => undefined,
        unreadable: ({ key }) => void taken.push(key),
      }),
      shrunk: () => undefined,
    });
    const add = (key: string): Promise<unknown> =>
      producer.send([{ topic: 'read', partition: 0, messages: [{ key, value: 'no Avro', partition: 0 }] }]);
    try {
      await member.join();
      await add('before');
      await until('it has taken the first record', () => taken.length === 1);
      coordinator.answers.set(joinGroup, coordinatorIsLoading).set(heartbeat, notCoordinator);
      await until('it has been told to join again and has been refused', () => coordinator.answers.size === 0);
      await add('after');
      await until('it has taken the second record', () => taken.includes('after'));
      expect(taken[0]).toBe('before');
    } finally {
      await member.stop();
      await fetcher.stop();
    }
  }, 90_000);
});
