import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  orFile,
  setting,
  type Setting,
  addresses,
  anyText,
  certificates,
  folder,
  host,
  httpUrl,
  matching,
  names,
  networks,
  oneOf,
  pgUrl,
  port,
  privateKey,
  token,
  whole,
} from './setting.js';

export type { Setting } from './setting.js';

/** Something that the operator must mend before the server can start, in sentences for a person. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Every variable there is, by its name in the configuration, in the order of the table in the README. */
export const settings = {
  dataDir: setting('HEADWATER_DATA', 'data', folder, 'the data folder; only one server can open it at a time', 'embedded'),
  host: setting('HEADWATER_HOST', '127.0.0.1', host, 'address to listen on; `0.0.0.0` lets other machines in'),
  port: setting('HEADWATER_PORT', '8080', port, 'port of the API; 0 takes a free one'),
  adminHost: setting(
    'HEADWATER_ADMIN_HOST',
    '127.0.0.1',
    host,
    'address to listen on for `/metrics`, which needs no key: expose it only on a trusted network',
  ),
  adminPort: setting('HEADWATER_ADMIN_PORT', '8081', port, 'port of `/metrics` (OpenMetrics); 0 takes a free one'),
  trustedProxies: setting(
    'HEADWATER_TRUSTED_PROXIES',
    '',
    networks,
    'proxies whose `X-Forwarded-For` is believed: addresses or networks, with commas between',
  ),
  logLevel: setting(
    'HEADWATER_LOG_LEVEL',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    '`trace`, `debug`, `info`, `warn`, `error`, `silent`; logs go to stderr, as JSON unless it is a terminal',
  ),
  maxSources: setting(
    'HEADWATER_MAX_SOURCES',
    'auto',
    names,
    'devices of an organization that may be active within two hours, in each process that takes points; `auto` is one for each 16 KiB of the heap of a server, and 100,000 for roles',
  ),
  maxSeries: setting(
    'HEADWATER_MAX_SERIES',
    'auto',
    names,
    'the same for series, which are metrics and events of one device; `auto` is one for each 4 KiB, and 1,000,000',
  ),
  maxTagSets: setting(
    'HEADWATER_MAX_TAG_SETS',
    'auto',
    names,
    'the same for distinct tag sets of points; `auto` is one for each 16 KiB, and 100,000',
  ),
  brokers: setting('HEADWATER_KAFKA_BROKERS', 'localhost:9092', addresses, 'some of the Kafka brokers, with commas between', 'cluster'),
  kafkaTls: setting(
    'HEADWATER_KAFKA_TLS',
    'off',
    oneOf('off', 'on'),
    '`on` encrypts the connections to Kafka and checks its certificates',
    'cluster',
  ),
  kafkaCa: orFile(
    'HEADWATER_KAFKA_CA',
    '',
    certificates,
    'certificates of the authorities to trust there, in PEM; the well-known ones without it',
  ),
  kafkaCert: orFile('HEADWATER_KAFKA_CERT', '', certificates, 'our certificate, in PEM, for brokers that ask for one'),
  kafkaKey: orFile('HEADWATER_KAFKA_KEY', '', privateKey, 'its private key, in PEM, without a passphrase'),
  kafkaSasl: setting(
    'HEADWATER_KAFKA_SASL',
    '',
    { ...oneOf('', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'), expected: 'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512' },
    'how to log in to Kafka: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; with `PLAIN` and without TLS the password travels as plain text',
    'cluster',
  ),
  kafkaUsername: setting('HEADWATER_KAFKA_USERNAME', '', anyText, 'user name for it', 'cluster'),
  kafkaPassword: orFile('HEADWATER_KAFKA_PASSWORD', '', anyText, 'password for it'),
  topicPrefix: setting(
    'HEADWATER_KAFKA_PREFIX',
    '',
    matching(/^[\w.-]{0,100}$/, 'at most 100 of A-Z a-z 0-9 . _ -'),
    'prefix of the name of every topic, group and subject, so that several installations can share one Kafka',
    'cluster',
  ),
  sessionS: setting(
    'HEADWATER_SESSION_SECONDS',
    '10',
    whole(1, 300),
    'seconds after which the others take over from a processor that is silent',
    'cluster',
  ),
  replication: setting(
    'HEADWATER_KAFKA_REPLICATION',
    '1',
    whole(1, 9),
    'copies of each topic that is made; with 3, data survives the loss of a broker',
    'cluster',
  ),
  registryUrl: setting(
    'HEADWATER_REGISTRY_URL',
    'http://localhost:8085/apis/ccompat/v7',
    httpUrl,
    'Confluent-compatible schema registry',
    'cluster',
  ),
  registryCa: orFile(
    'HEADWATER_REGISTRY_CA',
    '',
    certificates,
    'certificates of the authorities to trust there, in PEM; the well-known ones without it',
  ),
  registryUsername: setting('HEADWATER_REGISTRY_USERNAME', '', anyText, 'user name for it (basic authentication)', 'cluster'),
  registryPassword: orFile('HEADWATER_REGISTRY_PASSWORD', '', anyText, 'password for it'),
  registryToken: orFile('HEADWATER_REGISTRY_TOKEN', '', token, 'token for it (bearer authentication), in place of name and password'),
  cacheDir: setting(
    'HEADWATER_CACHE',
    'data/cache',
    folder,
    'folder for copies of schemas: a start does not need the registry then',
    'cluster',
  ),
  questDbUrl: setting('HEADWATER_QUESTDB_URL', 'http://localhost:9000', httpUrl, 'QuestDB over HTTP, for writing', 'cluster'),
  questDbUsername: setting('HEADWATER_QUESTDB_USERNAME', '', anyText, 'user name for it (basic authentication)', 'cluster'),
  questDbPassword: orFile('HEADWATER_QUESTDB_PASSWORD', '', anyText, 'password for it'),
  questDbToken: orFile('HEADWATER_QUESTDB_TOKEN', '', token, 'token for it (bearer authentication), in place of name and password'),
  questDbPg: orFile(
    'HEADWATER_QUESTDB_PG',
    'postgres://admin:quest@localhost:8812/qdb',
    pgUrl,
    'QuestDB over the PostgreSQL protocol, for reading; `?sslmode=verify-full` encrypts and checks its certificate',
  ),
  questDbCa: orFile(
    'HEADWATER_QUESTDB_CA',
    '',
    certificates,
    'certificates of the authorities to trust at both addresses of QuestDB, in PEM; the well-known ones without it',
  ),
  partitioning: setting(
    'HEADWATER_QUESTDB_PARTITION',
    'DAY',
    oneOf('HOUR', 'DAY', 'WEEK', 'MONTH'),
    'size of the partitions of QuestDB, when the tables are made: `HOUR` for more than about 5 million points an hour, `WEEK` or `MONTH` for few points over many years; the same for all processors',
    'cluster',
  ),
  questDbCommit: setting(
    'HEADWATER_QUESTDB_COMMIT',
    'sync',
    oneOf('sync', 'any'),
    '`sync` writes only to a QuestDB whose accepted rows survive a power cut (`cairo.commit.mode=sync`, which is not its default); `any` writes to every one, and after a power cut `headwater rebuild` must be run',
    'cluster',
  ),
  checkpointS: setting(
    'HEADWATER_CHECKPOINT_SECONDS',
    '60',
    // Reads take the rows of buckets that ended ten minutes ago, so these rows must be written by then.
    whole(1, 300),
    'seconds between checkpoints of the processors, at most 300: late points may take so long to reach the rollups, and so much is read again after a crash',
    'cluster',
  ),
} satisfies Record<string, Setting<unknown>>;

export type Config = { readonly [Name in keyof typeof settings]: NonNullable<ReturnType<(typeof settings)[Name]['parse']>> };

type Env = Readonly<Record<string, string | undefined>>;

/** Settings that are made together or not at all. */
const together: readonly (readonly (keyof Config)[])[] = [
  ['kafkaSasl', 'kafkaUsername', 'kafkaPassword'],
  ['kafkaCert', 'kafkaKey'],
  ['registryUsername', 'registryPassword'],
  ['questDbUsername', 'questDbPassword'],
];
/** In each group at most one setting may be set. */
const apart: readonly (readonly (keyof Config)[])[] = [
  ['registryUsername', 'registryToken'],
  ['questDbUsername', 'questDbToken'],
];
/** Settings that have no effect without TLS. */
const withTls: readonly (readonly [name: keyof Config, isTls: (config: Config) => boolean, how: string])[] = [
  ['kafkaCa', ({ kafkaTls }) => kafkaTls === 'on', 'HEADWATER_KAFKA_TLS=on'],
  ['kafkaCert', ({ kafkaTls }) => kafkaTls === 'on', 'HEADWATER_KAFKA_TLS=on'],
  ['registryCa', ({ registryUrl }) => registryUrl.startsWith('https:'), 'an https:// URL in HEADWATER_REGISTRY_URL'],
  [
    'questDbCa',
    ({ questDbUrl, questDbPg }) => questDbUrl.startsWith('https:') || /[?&]sslmode=(?!disable)/.test(questDbPg),
    'an https:// URL in HEADWATER_QUESTDB_URL, or sslmode=verify-full in HEADWATER_QUESTDB_PG',
  ],
];

/** Reads every variable once, and the files that some of them name. @throws StartError that names all that are wrong. */
export function readConfig(env: Env): Config {
  const mistakes: string[] = [];
  const read = ([name, one]: [string, Setting<unknown>]): [string, unknown] => {
    const given = textOf(one, env, (mistake) => mistakes.push(mistake));
    const value = one.parse(given || one.default);
    if (value === undefined) mistakes.push(`${one.variable} must be ${one.expected}${shown(one, given)}.`);
    return [name, value];
  };
  const config = Object.fromEntries(Object.entries<Setting<unknown>>(settings).map(read)) as Config;
  if (mistakes.length === 0) mistakes.push(...contradictions(config));
  if (mistakes.length > 0) throw new StartError(mistakes.join('\n'));
  return config;
}

/** What is given for a setting. A line break that ends a file is none of it. */
function textOf({ variable, mayBeFile }: Setting<unknown>, env: Env, mistaken: (sentence: string) => void): string | undefined {
  const file = mayBeFile ? env[`${variable}_FILE`] : undefined;
  if (!file) return env[variable];
  if (env[variable]) mistaken(`Set ${variable} or ${variable}_FILE, not both.`);
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (text === '') mistaken(`${variable}_FILE names a file that is empty.`);
    return text;
  } catch (cause) {
    // Its name is not shown: somebody may have taken it for the place of the secret itself.
    mistaken(`${variable}_FILE names a file that cannot be read (${(cause as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

/** What is wrong with settings each of which is fine. */
function contradictions(config: Config): readonly string[] {
  const { kafkaCert, kafkaKey } = config;
  const named = (some: readonly (keyof Config)[]): string => some.map((name) => settings[name].variable).join(' and ');
  const made = (some: readonly (keyof Config)[]): (keyof Config)[] => some.filter((name) => config[name] !== '');
  const partly = together.filter((group) => made(group).length > 0 && made(group).length < group.length);
  const isOurs = (): boolean => new X509Certificate(kafkaCert).checkPrivateKey(createPrivateKey(kafkaKey));
  return [
    ...(config.port !== 0 && config.port === config.adminPort ? ['HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.'] : []),
    ...partly.map((group) => `${named(made(group))} cannot do without ${named(group.filter((name) => config[name] === ''))}.`),
    ...apart
      .filter((group) => made(group).length > 1)
      .map((group) => `Set ${group.map((name) => settings[name].variable).join(' or ')}, not both.`),
    ...withTls
      .filter(([name, isTls]) => config[name] !== '' && !isTls(config))
      .map(([name, , how]) => `${settings[name].variable} needs ${how}.`),
    ...(kafkaCert && kafkaKey && !isOurs() ? ['HEADWATER_KAFKA_KEY is not the key of HEADWATER_KAFKA_CERT.'] : []),
  ];
}

/** What was given, unless it may hold a password. */
const shown = ({ mayBeFile }: Setting<unknown>, given: string | undefined): string =>
  mayBeFile || (given && /\/\/|@/.test(given)) ? '' : `, not ${JSON.stringify(given)}`;
