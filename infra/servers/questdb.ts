import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from './free-ports.js';
import { JavaServer } from './java-server.js';
import { fetched } from './maven.js';

export const artifact = { name: 'questdb', version: '9.3.4', goal: 'copy' } as const;

/** What newer Java versions want to be told; older ones leave out what they do not know. */
const opened = ['lang', 'lang.reflect', 'nio', 'time.zone'].map((name) => `--add-opens=java.base/java.${name}=io.questdb`);
const access = [
  '-XX:+IgnoreUnrecognizedVMOptions',
  '--sun-misc-unsafe-memory-access=allow',
  '--enable-native-access=io.questdb',
  ...opened,
  '--add-exports=java.base/jdk.internal.math=io.questdb',
  '--add-exports=java.base/jdk.internal.vm=io.questdb',
];

/** What Headwater wants of QuestDB, as environment variables. */
export const questDbSettings = {
  QDB_TELEMETRY_ENABLED: 'false',
  QDB_LINE_TCP_ENABLED: 'false',
  QDB_LINE_UDP_ENABLED: 'false',
  QDB_LINE_AUTO_CREATE_NEW_TABLES: 'false',
  QDB_LINE_AUTO_CREATE_NEW_COLUMNS: 'false',
  // A row that is accepted outlives a power cut.
  QDB_CAIRO_COMMIT_MODE: 'sync',
  QDB_PG_NET_CONNECTION_LIMIT: '256',
  // What a read of many days has opened is closed after it: each partition takes about 8 of the system's 65,530 maps.
  QDB_CAIRO_INACTIVE_READER_MAX_OPEN_PARTITIONS: '64',
};

export interface QuestDbServer {
  /** Base address of line protocol over HTTP, and of SQL over HTTP. */
  readonly httpUrl: string;
  /** Address of the PostgreSQL protocol. */
  readonly pgUrl: string;
  readonly server: JavaServer;
  stop(): Promise<void>;
}

export interface QuestDbOptions {
  /** Its data; kept between starts. */
  readonly folder: string;
  /** For HTTP and for the PostgreSQL protocol; free ones are chosen when left out. */
  readonly ports?: readonly [http: number, pg: number];
  /** Further settings, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** QuestDB on 127.0.0.1. Resolves when it serves. */
export async function startQuestDb({ folder, ports, settings }: QuestDbOptions): Promise<QuestDbServer> {
  const files = await fetched(artifact);
  const [http, pg] = ports ?? ((await freePorts(2)) as [number, number]);
  mkdirSync(folder, { recursive: true });
  const httpUrl = `http://127.0.0.1:${http}`;
  const jar = join(files, `questdb-${artifact.version}.jar`);
  const server = await JavaServer.start({
    name: 'QuestDB',
    args: ['-Xmx512m', '-XX:+UseParallelGC', ...access, '-p', jar, '-m', 'io.questdb/io.questdb.ServerMain', '-d', folder, '-n'],
    env: {
      ...questDbSettings,
      // It has a line for each request otherwise, which nobody reads.
      QDB_LOG_W_STDOUT_LEVEL: 'ERROR',
      QDB_HTTP_BIND_TO: `127.0.0.1:${http}`,
      QDB_PG_NET_BIND_TO: `127.0.0.1:${pg}`,
      QDB_HTTP_MIN_ENABLED: 'false',
      ...settings,
    },
    folder,
    serves: async (signal) => (await fetch(`${httpUrl}/ping`, { signal })).status === 204,
  });
  return { httpUrl, pgUrl: `postgres://admin:quest@127.0.0.1:${pg}/qdb`, server, stop: () => server.stop() };
}
