import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient, Network, Wait, type StartedNetwork } from 'testcontainers';
import { freePorts, questDbSettings, type Servers } from '../servers/index.js';

const readyMs = 180_000;

/** Which engine would run containers; undefined when there is none. */
export async function containerEngine(): Promise<string | undefined> {
  try {
    const { info } = await getContainerRuntimeClient();
    return `Docker on ${info.containerRuntime.operatingSystem}`;
  } catch {
    return undefined;
  }
}

/**
 * The three servers as containers, which are removed when they are stopped or when this process ends.
 * @param folder keeps their data; it goes with the containers when there is none.
 */
export async function startContainers(folder?: string): Promise<Servers> {
  const [port] = (await freePorts(1)) as [number];
  const started = new AsyncDisposableStack();
  try {
    const network = await new Network().start();
    started.defer(async () => void (await network.stop()));
    const kafka = container('apache/kafka:4.3.1', 'kafka', network, kafkaEnvironment(port))
      .withExposedPorts({ container: port, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/));
    const questDb = container('questdb/questdb:9.3.4', 'questdb', network, questDbSettings)
      .withExposedPorts(9000, 8812)
      .withWaitStrategy(Wait.forHttp('/ping', 9000).forStatusCode(204));
    const registry = container('apicurio/apicurio-registry:3.0.9', 'registry', network, {
      APICURIO_STORAGE_KIND: 'kafkasql',
      APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: 'kafka:29092',
    })
      .withExposedPorts(8080)
      .withWaitStrategy(Wait.forHttp('/apis/ccompat/v7/subjects', 8080));
    if (folder) {
      keep(kafka, join(folder, 'kafka'), '/var/lib/kafka/data');
      keep(questDb, join(folder, 'questdb'), '/var/lib/questdb');
    }
    const start = async (one: GenericContainer): Promise<(inside: number) => string> => {
      const running = await one.start();
      started.defer(async () => void (await running.stop({ timeout: 30_000 })));
      return (inside) => `${running.getHost()}:${running.getMappedPort(inside)}`;
    };
    await start(kafka);
    const [questDbAt, registryAt] = [await start(questDb), await start(registry)];
    const environment = {
      HEADWATER_KAFKA_BROKERS: `127.0.0.1:${port}`,
      HEADWATER_REGISTRY_URL: `http://${registryAt(8080)}/apis/ccompat/v7`,
      HEADWATER_QUESTDB_URL: `http://${questDbAt(9000)}`,
      HEADWATER_QUESTDB_PG: `postgres://admin:quest@${questDbAt(8812)}/qdb`,
    };
    return { environment, stop: () => started.disposeAsync() };
  } catch (cause) {
    await started.disposeAsync();
    throw cause;
  }
}

function container(image: string, name: string, network: StartedNetwork, environment: Readonly<Record<string, string>>): GenericContainer {
  return new GenericContainer(image).withNetwork(network).withNetworkAliases(name).withEnvironment(environment).withStartupTimeout(readyMs);
}

/** As the user who runs this, so that the data is theirs. */
function keep(one: GenericContainer, source: string, target: string): void {
  mkdirSync(source, { recursive: true });
  one.withBindMounts([{ source, target }]).withUser(`${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`);
}

/** Two listeners: for the roles on this machine, and for the registry beside it. */
const kafkaEnvironment = (port: number): Record<string, string> => ({
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
  KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
  KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
});
