import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.js';
import { JavaServer, smallHeap } from './java-server.js';
import { livePeers } from './kafka-peers.js';
import { scramUser, secured, type KafkaSecurity } from './kafka-security.js';
import { fetched, java } from './maven.js';

const run = promisify(execFile);
export const artifact = { name: 'kafka', version: '4.3.1', goal: 'copy-dependencies' } as const;
const clusterId = 'AAAAAAAAQAAAAAAAAAAAAQ';
const smallest = smallHeap(256);

/** What Headwater wants of every broker, however it is run. */
export const kafkaSettings = {
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': '0',
  // Our topics say it themselves. The registry's do not, and after the week that a broker keeps records its schemas would be gone.
  'log.retention.ms': '-1',
  // Ten years. A group of an operator's, such as that of the redrive of dead letters, has no members between two commands.
  'offsets.retention.minutes': '5256000',
};

/** Settings of a broker as variables of Kafka's image. */
export const asEnvironment = (broker: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(broker).map(([name, value]) => [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, value]));

export interface KafkaOptions {
  /** Kept between starts; each broker has a folder in it. */
  readonly folder: string;
  readonly brokers: 1 | 3;
  /** Where the brokers listen, in their order; free ones are chosen when left out. */
  readonly ports?: readonly number[];
  /** Ports that clients are told instead, as when something stands between; the brokers go to each other directly. */
  readonly advertised?: readonly number[];
  /** For clients; in plain text and unasked when left out. Brokers talk in plain text among themselves. */
  readonly security?: KafkaSecurity | undefined;
}

export interface KafkaServers {
  /** `host:port` of each broker. */
  readonly brokers: readonly string[];
  /** The brokers as processes, in the same order. */
  readonly servers: readonly JavaServer[];
  stop(): Promise<void>;
}

interface Node {
  readonly id: number;
  readonly port: number;
  readonly advertised: number;
  readonly brokerPort: number;
  readonly controllerPort: number;
  readonly security: KafkaSecurity | undefined;
}

/** Kafka in KRaft mode on 127.0.0.1, each broker a controller too. Resolves when all of them serve. */
export async function startKafka({ folder, brokers, ports, advertised, security }: KafkaOptions): Promise<KafkaServers> {
  const jars = await fetched(artifact);
  const free = await freePorts(3 * brokers);
  const nodes = Array.from({ length: brokers }, (_, n) => {
    const port = ports?.[n] ?? free[n]!;
    const [brokerPort, controllerPort] = [free[brokers + n]!, free[2 * brokers + n]!];
    return { id: n + 1, port, advertised: advertised?.[n] ?? port, brokerPort, controllerPort, security };
  });
  const started = await Promise.allSettled(
    nodes.map((node) => startBroker(join(jars, '*'), join(folder, `broker-${node.id}`), node, nodes)),
  );
  const servers = started.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
  const stop = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.stop())));
  const failed = started.find((it) => it.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  return { brokers: nodes.map((node) => `127.0.0.1:${node.advertised}`), servers, stop };
}

async function startBroker(classPath: string, folder: string, node: Node, all: readonly Node[]): Promise<JavaServer> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'server.properties');
  writeFileSync(file, properties(folder, node, all));
  if (!existsSync(join(folder, 'log', 'meta.properties'))) {
    const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', file, ...(node.security ? scramUser(node.security) : [])];
    await run(await java(), [...smallest, '-cp', classPath, ...format], { cwd: folder });
  }
  return JavaServer.start({
    name: `Kafka broker ${node.id}`,
    args: [...smallest, '-cp', classPath, 'kafka.Kafka', file],
    folder,
    serves: async () => (await livePeers(node.brokerPort)).includes(node.id),
  });
}

function properties(folder: string, { id, port, advertised, brokerPort, controllerPort, security }: Node, all: readonly Node[]): string {
  const lines: Record<string, string | number> = {
    ...kafkaSettings,
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': all.map((node) => `${node.id}@127.0.0.1:${node.controllerPort}`).join(','),
    listeners: `CLIENT://127.0.0.1:${port},BROKER://127.0.0.1:${brokerPort},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${advertised},BROKER://127.0.0.1:${brokerPort}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `CONTROLLER:PLAINTEXT,BROKER:PLAINTEXT,CLIENT:${security ? 'SASL_SSL' : 'PLAINTEXT'}`,
    'inter.broker.listener.name': 'BROKER',
    'log.dirs': join(folder, 'log'),
    'offsets.topic.replication.factor': all.length,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': all.length,
    'transaction.state.log.min.isr': Math.min(2, all.length),
    'default.replication.factor': all.length,
    'min.insync.replicas': Math.min(2, all.length),
    // Tests end members and brokers without warning and wait for the others to notice.
    'group.min.session.timeout.ms': 1000,
    // A broker that is silent for longer loses its partitions until it is heard again. One that is alone has nobody to lose them to, and is
    // silent for seconds on a busy machine.
    'broker.session.timeout.ms': all.length === 1 ? 6000 : 3000,
    'broker.heartbeat.interval.ms': 200,
    // Many small topics that come and go.
    'log.segment.delete.delay.ms': 1000,
    'log.index.size.max.bytes': 1048576,
    'log.cleaner.dedupe.buffer.size': 33554432,
    // Tests wait for a tombstone to be compacted away.
    'log.cleaner.backoff.ms': 1000,
    ...(security && secured(folder, security)),
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
