import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts, questDbSettings } from '../servers/index.js';
import type { Servers } from './servers.js';

const run = promisify(execFile);
const readyMs = 180_000;

interface Container {
  readonly image: string;
  /** Port here and in the container. */
  readonly ports: readonly (readonly [number, number])[];
  readonly environment: Readonly<Record<string, string | number>>;
  /** Folder here and in the container. */
  readonly data?: readonly [string, string];
}

/** The three servers as containers of this run, which are removed at its end; their data stays in the folder. */
export async function startContainers(folder: string): Promise<Servers> {
  const [kafka, registry, http, pg] = (await freePorts(4)) as [number, number, number, number];
  const network = `headwater-${process.pid}`;
  const started = new AsyncDisposableStack();
  const start = async (name: string, container: Container): Promise<void> => {
    const full = `${network}-${name}`;
    await run('docker', ['run', '--detach', '--rm', '--name', full, '--network', network, '--network-alias', name, ...flags(container)]);
    started.defer(async () => void (await run('docker', ['stop', full])));
  };
  try {
    await run('docker', ['network', 'create', network]);
    started.defer(async () => void (await run('docker', ['network', 'rm', network])));
    await start('kafka', {
      image: 'apache/kafka:4.3.1',
      ports: [[kafka, kafka]],
      environment: kafkaEnvironment(kafka),
      data: [join(folder, 'kafka'), '/var/lib/kafka/data'],
    });
    await start('questdb', {
      image: 'questdb/questdb:9.3.4',
      ports: [
        [http, 9000],
        [pg, 8812],
      ],
      environment: questDbSettings,
      data: [join(folder, 'questdb'), '/var/lib/questdb'],
    });
    await start('registry', {
      image: 'apicurio/apicurio-registry:3.0.9',
      ports: [[registry, 8080]],
      environment: { APICURIO_STORAGE_KIND: 'kafkasql', APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: 'kafka:29092' },
    });
    const [registryUrl, questDbUrl] = [`http://127.0.0.1:${registry}/apis/ccompat/v7`, `http://127.0.0.1:${http}`];
    await Promise.all([serves(`${registryUrl}/subjects`), serves(`${questDbUrl}/ping`)]);
    const environment = {
      HEADWATER_KAFKA_BROKERS: `127.0.0.1:${kafka}`,
      HEADWATER_REGISTRY_URL: registryUrl,
      HEADWATER_QUESTDB_URL: questDbUrl,
      HEADWATER_QUESTDB_PG: `postgres://admin:quest@127.0.0.1:${pg}/qdb`,
    };
    return { environment, stop: () => started.disposeAsync() };
  } catch (cause) {
    await started.disposeAsync();
    throw cause;
  }
}

function flags({ image, ports, environment, data }: Container): string[] {
  if (data) mkdirSync(data[0], { recursive: true });
  return [
    ...ports.flatMap(([here, there]) => ['--publish', `127.0.0.1:${here}:${there}`]),
    ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(data
      ? ['--volume', `${resolve(data[0])}:${data[1]}`, '--user', `${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`]
      : []),
    image,
  ];
}

/** Two listeners: for the roles on this machine, and for the registry beside it. */
const kafkaEnvironment = (port: number): Record<string, string | number> => ({
  CLUSTER_ID: 'AAAAAAAAQAAAAAAAAAAAAQ',
  KAFKA_NODE_ID: 1,
  KAFKA_PROCESS_ROLES: 'broker,controller',
  KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
  KAFKA_LISTENERS: `OUTSIDE://:${port},INSIDE://:29092,CONTROLLER://:9093`,
  KAFKA_ADVERTISED_LISTENERS: `OUTSIDE://127.0.0.1:${port},INSIDE://kafka:29092`,
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT',
  KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
  KAFKA_INTER_BROKER_LISTENER_NAME: 'INSIDE',
  KAFKA_LOG_DIRS: '/var/lib/kafka/data',
  KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1,
  KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: 1,
  KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: 1,
  KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: 0,
  KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
});

async function serves(url: string): Promise<void> {
  for (const deadline = performance.now() + readyMs; ; await pause(200)) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (performance.now() > deadline) throw new Error(`nothing serves at ${url}`);
  }
}
