import { createHash } from 'node:crypto';
import { GenericContainer, getContainerRuntimeClient, Network, Wait, type StartedNetwork } from 'testcontainers';
import { asEnvironment, freePorts, images, kafkaSettings, questDbSettings, type Servers } from '../servers/index.js';

const readyMs = 180_000;
const stopMs = 60_000;

/** Which engine would run containers; undefined when there is none. */
export async function containerEngine(): Promise<string | undefined> {
  try {
    const { info } = await getContainerRuntimeClient();
    return `Docker on ${info.containerRuntime.operatingSystem}`;
  } catch {
    return undefined;
  }
}

/** Volumes of the engine that keep the servers' data. A folder of ours could not: the servers run as users of their own. */
interface DataVolumes {
  readonly kafka: string;
  readonly questDb: string;
}

/** The same for the same folder. */
export function dataVolumes(folder: string): DataVolumes {
  const name = `headwater-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
  return { kafka: `${name}-kafka`, questDb: `${name}-questdb` };
}

/**
 * The three servers as containers, which are removed when they are stopped or when this process ends.
 * @param volumes keep their data; it goes with the containers when there are none.
 */
export async function startContainers(volumes?: DataVolumes): Promise<Servers> {
  const [port] = (await freePorts(1)) as [number];
  const started = new AsyncDisposableStack();
  try {
    const network = await new Network().start();
    started.defer(async () => void (await network.stop()));
    const kafka = container(images.kafka, 'kafka', network, kafkaEnvironment(port))
      .withExposedPorts({ container: port, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/));
    const questDb = container(images.questDb, 'questdb', network, questDbSettings)
      .withExposedPorts(9000, 8812)
      .withWaitStrategy(Wait.forHttp('/ping', 9000).forStatusCode(204));
    const registry = container(images.registry, 'registry', network, {
      APICURIO_STORAGE_KIND: 'kafkasql',
      APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: 'kafka:29092',
    })
      .withExposedPorts(8080)
      .withWaitStrategy(Wait.forHttp('/apis/ccompat/v7/subjects', 8080));
    if (volumes) {
      kafka.withBindMounts([{ source: volumes.kafka, target: '/var/lib/kafka/data' }]);
      questDb.withBindMounts([{ source: volumes.questDb, target: '/var/lib/questdb' }]);
    }
    const { container: engine } = await getContainerRuntimeClient();
    const ended = Promise.withResolvers<string>();
    const start = async (one: GenericContainer, name: string): Promise<(inside: number) => string> => {
      const running = await one.start();
      const told = (code: number): void =>
        ended.resolve(`The container ${running.getName()} (${name}) has ended by itself (exit code ${code}).`);
      engine
        .getById(running.getId())
        .wait()
        .then(
          ({ StatusCode }: { StatusCode: number }) => told(StatusCode),
          () => undefined,
        );
      started.defer(async () => void (await running.stop({ timeout: stopMs })));
      return (inside) => `${running.getHost()}:${running.getMappedPort(inside)}`;
    };
    await start(kafka, 'Kafka');
    const [questDbAt, registryAt] = [await start(questDb, 'QuestDB'), await start(registry, 'the schema registry')];
    const environment = {
      HEADWATER_KAFKA_BROKERS: `127.0.0.1:${port}`,
      HEADWATER_REGISTRY_URL: `http://${registryAt(8080)}/apis/ccompat/v7`,
      HEADWATER_QUESTDB_URL: `http://${questDbAt(9000)}`,
      HEADWATER_QUESTDB_PG: `postgres://admin:quest@${questDbAt(8812)}/qdb`,
    };
    return { environment, ended: ended.promise, stop: () => started.disposeAsync() };
  } catch (cause) {
    await started.disposeAsync();
    throw cause;
  }
}

function container(image: string, name: string, network: StartedNetwork, environment: Readonly<Record<string, string>>): GenericContainer {
  return new GenericContainer(image).withNetwork(network).withNetworkAliases(name).withEnvironment(environment).withStartupTimeout(readyMs);
}

/** Two listeners: for the roles on this machine, and for the registry beside it. */
const kafkaEnvironment = (port: number): Record<string, string> => ({
  ...asEnvironment(kafkaSettings),
  KAFKA_HEAP_OPTS: '-Xms512m -Xmx512m',
  CLUSTER_ID: 'AAAAAAAAQAAAAAAAAAAAAQ',
  KAFKA_NODE_ID: '1',
  KAFKA_PROCESS_ROLES: 'broker,controller',
  KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
  KAFKA_LISTENERS: `OUTSIDE://:${port},INSIDE://:29092,CONTROLLER://:9093`,
  KAFKA_ADVERTISED_LISTENERS: `OUTSIDE://127.0.0.1:${port},INSIDE://kafka:29092`,
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT',
  KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
  KAFKA_INTER_BROKER_LISTENER_NAME: 'INSIDE',
  KAFKA_LOG_DIRS: '/var/lib/kafka/data',
  KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
  KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
  KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
});
