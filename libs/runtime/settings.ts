import { isIP } from 'node:net';
import { resolve } from 'node:path';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const commitModes = ['sync', 'any'] as const;
const partitionings = ['HOUR', 'DAY', 'WEEK', 'MONTH'] as const;

/** One variable of the environment. */
export interface Setting<T> {
  readonly variable: string;
  /** As it would be written in the environment. */
  readonly otherwise: string;
  /** Undefined when the text is none. */
  readonly parse: (text: string) => T | undefined;
  /** What it must be: the end of a sentence. */
  readonly expected: string;
  /** What it is for, for a table. */
  readonly about: string;
  /** Who reads it; both shapes unless said. */
  readonly shape?: 'embedded' | 'cluster';
}

const port = (given: string): number | undefined => (/^\d{1,5}$/.test(given) && Number(given) < 65_536 ? Number(given) : undefined);
const host = (given: string): string | undefined => (/^[\w.:-]+$/.test(given) ? given : undefined);
const list = (given: string): readonly string[] | undefined => {
  const items = given.split(',').map((item) => item.trim());
  return items.every((item) => /^[\w.-]+:\d{1,5}$/.test(item)) ? items : undefined;
};
const addresses = (given: string): readonly string[] | undefined => {
  const items = given.split(',').flatMap((item) => item.trim() || []);
  return items.every(isNetwork) ? items : undefined;
};
const url =
  (...protocols: readonly string[]) =>
  (given: string): string | undefined => {
    const parsed = URL.parse(given);
    return parsed && protocols.includes(parsed.protocol) ? given.replace(/\/+$/, '') : undefined;
  };
const whole =
  (least: number, most: number) =>
  (given: string): number | undefined =>
    /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most ? Number(given) : undefined;

function isNetwork(given: string): boolean {
  const [address, bits, ...rest] = given.split('/');
  const version = isIP(address!);
  return (
    version !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
  );
}

const setting = <T>(made: Setting<T>): Setting<T> => made;

/** Every variable there is, by its name in the configuration, in the order of the table in the README. */
export const settings = {
  dataDir: setting({
    variable: 'HEADWATER_DATA',
    otherwise: 'data',
    parse: (given) => resolve(given),
    expected: 'a folder',
    about: 'the data folder; one server has it open at a time',
    shape: 'embedded',
  }),
  host: setting({
    variable: 'HEADWATER_HOST',
    otherwise: '127.0.0.1',
    parse: host,
    expected: 'an address or host name',
    about: 'address to listen on; `0.0.0.0` lets other machines in',
  }),
  port: setting({
    variable: 'HEADWATER_PORT',
    otherwise: '8080',
    parse: port,
    expected: 'a port from 0 to 65535',
    about: 'the API; 0 takes a free one',
  }),
  adminHost: setting({
    variable: 'HEADWATER_ADMIN_HOST',
    otherwise: '127.0.0.1',
    parse: host,
    expected: 'an address or host name',
    about: 'address to listen on for `/metrics`, which needs no key: another one only in a network that is yours alone',
  }),
  adminPort: setting({
    variable: 'HEADWATER_ADMIN_PORT',
    otherwise: '8081',
    parse: port,
    expected: 'a port from 0 to 65535',
    about: '`/metrics` (OpenMetrics); 0 takes a free one',
  }),
  trustedProxies: setting({
    variable: 'HEADWATER_TRUSTED_PROXIES',
    otherwise: '',
    parse: addresses,
    expected: 'addresses or networks like 10.0.0.0/8 with commas between',
    about: 'proxies whose `X-Forwarded-For` is believed: addresses or networks, with commas between',
  }),
  logLevel: setting({
    variable: 'HEADWATER_LOG_LEVEL',
    otherwise: 'info',
    parse: (given): LogLevel | undefined => logLevels.find((one) => one === given),
    expected: `one of ${logLevels.join(', ')}`,
    about: '`trace`, `debug`, `info`, `warn`, `error`, `silent`; logs go to stderr, as JSON unless it is a terminal',
  }),
  brokers: setting({
    variable: 'HEADWATER_KAFKA_BROKERS',
    otherwise: 'localhost:9092',
    parse: list,
    expected: 'addresses like host:9092 with commas between',
    about: 'Kafka: some of its brokers, with commas between',
    shape: 'cluster',
  }),
  topicPrefix: setting({
    variable: 'HEADWATER_KAFKA_PREFIX',
    otherwise: '',
    parse: (given) => (/^[\w.-]{0,100}$/.test(given) ? given : undefined),
    expected: 'at most 100 of A-Z a-z 0-9 . _ -',
    about: 'stands before the name of every topic, group and subject, so that several installations can share one Kafka',
    shape: 'cluster',
  }),
  sessionS: setting({
    variable: 'HEADWATER_SESSION_SECONDS',
    otherwise: '10',
    parse: whole(1, 300),
    expected: 'a whole number from 1 to 300',
    about: 'seconds after which a processor that is silent is replaced by the others',
    shape: 'cluster',
  }),
  replication: setting({
    variable: 'HEADWATER_KAFKA_REPLICATION',
    otherwise: '1',
    parse: whole(1, 9),
    expected: 'a whole number from 1 to 9',
    about: 'copies of each topic that is made; 3 survives the loss of a broker',
    shape: 'cluster',
  }),
  registryUrl: setting({
    variable: 'HEADWATER_REGISTRY_URL',
    otherwise: 'http://localhost:8085/apis/ccompat/v7',
    parse: url('http:', 'https:'),
    expected: 'a URL that begins with http:// or https://',
    about: 'Confluent-compatible schema registry',
    shape: 'cluster',
  }),
  cacheDir: setting({
    variable: 'HEADWATER_CACHE',
    otherwise: 'data/cache',
    parse: (given) => resolve(given),
    expected: 'a folder',
    about: 'folder for copies of schemas, so that a start does not need the registry',
    shape: 'cluster',
  }),
  questDbUrl: setting({
    variable: 'HEADWATER_QUESTDB_URL',
    otherwise: 'http://localhost:9000',
    parse: url('http:'),
    expected: 'a URL that begins with http://',
    about: 'QuestDB over HTTP, for writing',
    shape: 'cluster',
  }),
  questDbPg: setting({
    variable: 'HEADWATER_QUESTDB_PG',
    otherwise: 'postgres://admin:quest@localhost:8812/qdb',
    parse: url('postgres:', 'postgresql:'),
    expected: 'a URL that begins with postgres://',
    about: 'QuestDB over the PostgreSQL protocol, for reading',
    shape: 'cluster',
  }),
  partitioning: setting({
    variable: 'HEADWATER_QUESTDB_PARTITION',
    otherwise: 'DAY',
    parse: (given) => partitionings.find((one) => one === given),
    expected: `one of ${partitionings.join(', ')}`,
    about:
      'time of one partition of QuestDB, when the tables are made: `HOUR` for more than about 5 million points an hour, `WEEK` or `MONTH` for few points over many years; the same for all processors',
    shape: 'cluster',
  }),
  questDbCommit: setting({
    variable: 'HEADWATER_QUESTDB_COMMIT',
    otherwise: 'sync',
    parse: (given) => commitModes.find((one) => one === given),
    expected: `one of ${commitModes.join(', ')}`,
    about:
      '`sync` writes only to a QuestDB whose accepted rows outlive a power cut (`cairo.commit.mode=sync`, which is not its default); `any` writes to every one, and after a power cut `headwater rebuild` must be run',
    shape: 'cluster',
  }),
  checkpointS: setting({
    variable: 'HEADWATER_CHECKPOINT_SECONDS',
    otherwise: '60',
    // Reads take rows of buckets that ended ten minutes ago, so these must be there.
    parse: whole(1, 300),
    expected: 'a whole number from 1 to 300',
    about:
      'seconds between checkpoints of the processors, at most 300: so long may late points take to reach the rollups, and so much is read again after a crash',
    shape: 'cluster',
  }),
} satisfies Record<string, Setting<unknown>>;

export type Config = { readonly [Name in keyof typeof settings]: NonNullable<ReturnType<(typeof settings)[Name]['parse']>> };
