import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { freePorts } from './free-ports.js';
import { JavaServer, smallHeap } from './java-server.js';
import { fetched } from './maven.js';

export const artifact = { name: 'registry', version: '3.0.9', goal: 'unpack' } as const;

export interface RegistryServer {
  /** Base address of the Confluent-compatible API. */
  readonly url: string;
  readonly server: JavaServer;
  stop(): Promise<void>;
}

export interface RegistryOptions {
  readonly folder: string;
  readonly port?: number;
  /** Brokers to keep the schemas in, as `host:port`; in memory when left out, for as long as it runs. */
  readonly kafka?: readonly string[];
}

/** Apicurio Registry on 127.0.0.1. Resolves when it serves. */
export async function startRegistry({ folder, port: wanted, kafka }: RegistryOptions): Promise<RegistryServer> {
  const files = await fetched(artifact);
  const [port] = wanted === undefined ? await freePorts(1) : [wanted];
  mkdirSync(folder, { recursive: true });
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  const server = await JavaServer.start({
    name: 'the schema registry',
    args: [...smallHeap(256), '-jar', join(files, `apicurio-registry-app-${artifact.version}-runner.jar`)],
    env: {
      QUARKUS_HTTP_HOST: '127.0.0.1',
      QUARKUS_HTTP_PORT: `${port}`,
      ...(kafka && { APICURIO_STORAGE_KIND: 'kafkasql', APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: kafka.join(',') }),
    },
    folder,
    serves: async (signal) => (await fetch(`${url}/subjects`, { signal })).ok,
  });
  return { url, server, stop: () => server.stop() };
}
