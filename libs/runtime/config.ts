import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** Something that the operator must mend before the server can start, in sentences for a person. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** What the text of a variable must be. */
interface Kind<T> {
  /** Undefined when the text is not of this kind. */
  readonly parse: (text: string) => T | undefined;
  /** The end of the sentence "X must be …". */
  readonly expected: string;
}

/** One variable of the environment. */
export interface Setting<T> extends Kind<T> {
  readonly variable: string;
  /** As it would be written in the environment. */
  readonly default: string;
  /** What it is for: a row of the table in the README. */
  readonly about: string;
  /** Which shape reads it; both when left out. */
  readonly shape?: 'embedded' | 'cluster';
}

const matching = (pattern: RegExp, expected: string): Kind<string> => ({
  parse: (text) => (pattern.test(text) ? text : undefined),
  expected,
});
const oneOf = <const T extends string>(...words: readonly T[]): Kind<T> => ({
  parse: (text) => words.find((word) => word === text),
  expected: `one of ${words.join(', ')}`,
});
const whole = (min: number, max: number): Kind<number> => ({
  parse: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
  expected: `a whole number from ${min} to ${max}`,
});
/** A number of names; `auto` is what suits the shape. */
const names: Kind<number | 'auto'> = {
  parse: (text) => (text === 'auto' ? text : whole(1, 999_999_999).parse(text)),
  expected: 'auto, or a whole number from 1 to 999999999',
};
const url = (protocols: readonly string[], expected: string): Kind<string> => ({
  parse: (text) => (protocols.includes(URL.parse(text)?.protocol ?? '') ? text.replace(/\/+$/, '') : undefined),
  expected: `a URL that begins with ${expected}`,
});
const folder: Kind<string> = { parse: (text) => resolve(text), expected: 'a folder' };
const host = matching(/^[\w.:-]+$/, 'an address or host name');
const port: Kind<number> = { ...whole(0, 65_535), expected: 'a port from 0 to 65535' };

/** Items with commas between them; undefined when one of them is wrong. */
const list = (text: string, isItem: (item: string) => boolean): readonly string[] | undefined => {
  const items = text.split(',').map((item) => item.trim());
  return items.every(isItem) ? items : undefined;
};
const addresses: Kind<readonly string[]> = {
  parse: (text) => list(text, (item) => /^[\w.-]+:\d{1,5}$/.test(item)),
  expected: 'addresses like host:9092 with commas between',
};
const networks: Kind<readonly string[]> = {
  parse: (text) => list(text, (item) => item === '' || isNetwork(item))?.filter(Boolean),
  expected: 'addresses or networks like 10.0.0.0/8 with commas between',
};

function isNetwork(item: string): boolean {
  const [address, bits, ...rest] = item.split('/');
  const version = isIP(address!);
  const maxBits = version === 4 ? 32 : 128;
  return version !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits));
}

function setting<T>(variable: string, usual: string, kind: Kind<T>, about: string, shape?: 'embedded' | 'cluster'): Setting<T> {
  return { variable, default: usual, ...kind, about, ...(shape && { shape }) };
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
    url(['http:', 'https:'], 'http:// or https://'),
    'Confluent-compatible schema registry',
    'cluster',
  ),
  cacheDir: setting(
    'HEADWATER_CACHE',
    'data/cache',
    folder,
    'folder for copies of schemas: a start does not need the registry then',
    'cluster',
  ),
  questDbUrl: setting(
    'HEADWATER_QUESTDB_URL',
    'http://localhost:9000',
    url(['http:'], 'http://'),
    'QuestDB over HTTP, for writing',
    'cluster',
  ),
  questDbPg: setting(
    'HEADWATER_QUESTDB_PG',
    'postgres://admin:quest@localhost:8812/qdb',
    url(['postgres:', 'postgresql:'], 'postgres://'),
    'QuestDB over the PostgreSQL protocol, for reading',
    'cluster',
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

/** Reads every variable once. @throws StartError that names all that are wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const mistakes: string[] = [];
  const read = ([name, one]: [string, Setting<unknown>]): [string, unknown] => {
    const given = env[one.variable];
    const value = one.parse(given || one.default);
    if (value === undefined) mistakes.push(`${one.variable} must be ${one.expected}${shown(given)}.`);
    return [name, value];
  };
  const config = Object.fromEntries(Object.entries<Setting<unknown>>(settings).map(read)) as Config;
  if (config.port !== 0 && config.port === config.adminPort) mistakes.push('HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.');
  if (mistakes.length > 0) throw new StartError(mistakes.join('\n'));
  return config;
}

/** What was given, unless it may hold a password. */
const shown = (given: string | undefined): string => (given?.includes('//') ? '' : `, not ${JSON.stringify(given)}`);
