import * as kinds from './setting-kinds.js';

/** One variable of the environment. */
export interface Setting<T> extends kinds.Kind<T> {
  readonly variable: string;
  /** As it would be written in the environment. */
  readonly default: string;
  /** What it is for: a row of the table in the README. */
  readonly about: string;
  /** Which shape reads it; both when left out. */
  readonly shape?: 'embedded' | 'cluster';
  /** Whether it may stand in a file that `<variable>_FILE` names, as containers mount secrets. What it is, no message shows. */
  readonly mayBeFile?: boolean;
}

const settingOf =
  (which: Pick<Setting<unknown>, 'shape' | 'mayBeFile'>) =>
  <T>(variable: string, usual: string, kind: kinds.Kind<T>, about: string): Setting<T> => ({
    variable,
    default: usual,
    ...kind,
    about,
    ...which,
  });
const setting = settingOf({});
const ofEmbedded = settingOf({ shape: 'embedded' });
const ofCluster = settingOf({ shape: 'cluster' });
const ofEmbeddedOrFile = settingOf({ shape: 'embedded', mayBeFile: true });
const secret = settingOf({ mayBeFile: true });
const orFile = settingOf({ shape: 'cluster', mayBeFile: true });

/** Every variable there is, by its name in the configuration, in the order of the table in the README. */
export const settings = {
  dataDir: ofEmbedded('HEADWATER_DATA', 'data', kinds.folder, 'the data folder; only one server can open it at a time'),
  keepLogMs: setting(
    'HEADWATER_KEEP_LOG',
    'all',
    // Streams resume up to an hour back, and what was deleted is known as deleted for a day.
    kinds.keptFor(24),
    'how long the log keeps records, at least `1d`, such as `36h` or `30d`; `all` keeps all of them. What is read stays; see [Old records](#durability-and-replay). In a cluster it is the `retention.ms` of points and events',
  ),
  keepPointsMs: setting(
    'HEADWATER_KEEP_POINTS',
    'all',
    kinds.keptFor(24),
    'how long points are kept, such as `7d`; see [How long data is kept](#how-long-data-is-kept)',
  ),
  keep1mMs: setting('HEADWATER_KEEP_1M', 'all', kinds.keptFor(24), 'the same for their rollups of `1m` and `10m`, at least as long'),
  keep1hMs: setting('HEADWATER_KEEP_1H', 'all', kinds.keptFor(24), 'the same for those of `1h`, at least as long as that'),
  keep1dMs: setting('HEADWATER_KEEP_1D', 'all', kinds.keptFor(24), 'the same for those of `1d`, at least as long as that'),
  keepEventsMs: setting('HEADWATER_KEEP_EVENTS', 'all', kinds.keptFor(24), 'how long events are kept; see there too'),
  host: setting('HEADWATER_HOST', '127.0.0.1', kinds.host, 'address to listen on; `0.0.0.0` lets other machines in'),
  port: setting('HEADWATER_PORT', '8080', kinds.port, 'port of the API; 0 takes a free one'),
  adminHost: setting(
    'HEADWATER_ADMIN_HOST',
    '127.0.0.1',
    kinds.host,
    'address to listen on for `/metrics`, which needs no key: expose it only on a trusted network',
  ),
  adminPort: setting('HEADWATER_ADMIN_PORT', '8081', kinds.port, 'port of `/metrics` (OpenMetrics); 0 takes a free one'),
  backupToken: ofEmbeddedOrFile(
    'HEADWATER_BACKUP_TOKEN',
    '',
    kinds.matching(/^([!-~]{16,})?$/, 'at least 16 visible ASCII characters'),
    'token for `/backup` at that port, by which `headwater backup --url` copies everything there is; no such path without it',
  ),
  trustedProxies: setting(
    'HEADWATER_TRUSTED_PROXIES',
    '',
    kinds.networks,
    'proxies whose `X-Forwarded-For` is believed: addresses or networks, with commas between',
  ),
  publicUrl: setting(
    'HEADWATER_PUBLIC_URL',
    '',
    kinds.publicUrl,
    'address that people reach the server at, such as `https://telemetry.example.com`: links begin with it, and with `https://` the cookie of a session is sent over TLS only',
  ),
  logLevel: setting(
    'HEADWATER_LOG_LEVEL',
    'info',
    kinds.oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    '`trace`, `debug`, `info`, `warn`, `error`, `silent`; logs go to stderr, as JSON unless it is a terminal',
  ),
  maxSources: setting(
    'HEADWATER_MAX_SOURCES',
    'auto',
    kinds.names,
    'devices of an organization that may be active within two hours, in each process that takes points; `auto` is one for each 16 KiB of the heap of a server, and 100,000 for roles',
  ),
  maxSeries: setting(
    'HEADWATER_MAX_SERIES',
    'auto',
    kinds.names,
    'the same for series, which are metrics and events of one device; `auto` is one for each 4 KiB, and 1,000,000',
  ),
  maxTagSets: setting(
    'HEADWATER_MAX_TAG_SETS',
    'auto',
    kinds.names,
    'the same for distinct tag sets of points; `auto` is one for each 16 KiB, and 100,000',
  ),
  alertNetworks: setting(
    'HEADWATER_ALERT_NETWORKS',
    '',
    kinds.networks,
    'networks beside the public internet that alerts may be sent to, such as that of a chat server of your own: addresses or networks, with commas between',
  ),
  smtpUrl: secret(
    'HEADWATER_SMTP_URL',
    '',
    kinds.smtpUrl,
    'server that sends mail: `smtp://` (with STARTTLS where it can) or `smtps://`, with name and password where it asks for them; no mail without it',
  ),
  mailFrom: setting('HEADWATER_MAIL_FROM', '', kinds.email, 'address that mail comes from'),
  oidcIssuer: setting(
    'HEADWATER_OIDC_ISSUER',
    '',
    kinds.issuer,
    'OpenID provider that people may sign in by, as its issuer URL; register there the address `<HEADWATER_PUBLIC_URL>/sign-in/openid/callback`',
  ),
  oidcClientId: setting('HEADWATER_OIDC_CLIENT_ID', '', kinds.anyText, 'id that the provider knows this server by'),
  oidcClientSecret: secret(
    'HEADWATER_OIDC_CLIENT_SECRET',
    '',
    kinds.anyText,
    'secret that it has given for that id; the same for all replicas',
  ),
  brokers: ofCluster('HEADWATER_KAFKA_BROKERS', 'localhost:9092', kinds.addresses, 'some of the Kafka brokers, with commas between'),
  kafkaTls: ofCluster(
    'HEADWATER_KAFKA_TLS',
    'off',
    kinds.oneOf('off', 'on'),
    '`on` encrypts the connections to Kafka and checks its certificates',
  ),
  kafkaCa: orFile(
    'HEADWATER_KAFKA_CA',
    '',
    kinds.certificates,
    'certificates of the authorities to trust there, in PEM; the well-known ones without it',
  ),
  kafkaCert: orFile('HEADWATER_KAFKA_CERT', '', kinds.certificates, 'our certificate, in PEM, for brokers that ask for one'),
  kafkaKey: orFile('HEADWATER_KAFKA_KEY', '', kinds.privateKey, 'its private key, in PEM, without a passphrase'),
  kafkaSasl: ofCluster(
    'HEADWATER_KAFKA_SASL',
    '',
    { ...kinds.oneOf('', 'PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'), expected: 'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512' },
    'how to log in to Kafka: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; with `PLAIN` and without TLS the password travels as plain text',
  ),
  kafkaUsername: ofCluster('HEADWATER_KAFKA_USERNAME', '', kinds.anyText, 'user name for it'),
  kafkaPassword: orFile('HEADWATER_KAFKA_PASSWORD', '', kinds.anyText, 'password for it'),
  topicPrefix: ofCluster(
    'HEADWATER_KAFKA_PREFIX',
    '',
    kinds.matching(/^[\w.-]{0,100}$/, 'at most 100 of A-Z a-z 0-9 . _ -'),
    'prefix of the name of every topic, group and subject, so that several installations can share one Kafka',
  ),
  sessionS: ofCluster(
    'HEADWATER_SESSION_SECONDS',
    '10',
    kinds.whole(1, 300),
    'seconds after which the others take over from a processor that is silent',
  ),
  replication: ofCluster(
    'HEADWATER_KAFKA_REPLICATION',
    '1',
    kinds.whole(1, 9),
    'copies of each topic that is made; with 3, data survives the loss of a broker',
  ),
  registryUrl: ofCluster(
    'HEADWATER_REGISTRY_URL',
    'http://localhost:8085/apis/ccompat/v7',
    kinds.httpUrl,
    'Confluent-compatible schema registry',
  ),
  registryCa: orFile(
    'HEADWATER_REGISTRY_CA',
    '',
    kinds.certificates,
    'certificates of the authorities to trust there, in PEM; the well-known ones without it',
  ),
  registryUsername: ofCluster('HEADWATER_REGISTRY_USERNAME', '', kinds.anyText, 'user name for it (basic authentication)'),
  registryPassword: orFile('HEADWATER_REGISTRY_PASSWORD', '', kinds.anyText, 'password for it'),
  registryToken: orFile('HEADWATER_REGISTRY_TOKEN', '', kinds.token, 'token for it (bearer authentication), in place of name and password'),
  cacheDir: ofCluster(
    'HEADWATER_CACHE',
    'data/cache',
    kinds.folder,
    'folder for copies of schemas: a start does not need the registry then',
  ),
  questDbUrl: ofCluster('HEADWATER_QUESTDB_URL', 'http://localhost:9000', kinds.httpUrl, 'QuestDB over HTTP, for writing'),
  questDbUsername: ofCluster('HEADWATER_QUESTDB_USERNAME', '', kinds.anyText, 'user name for it (basic authentication)'),
  questDbPassword: orFile('HEADWATER_QUESTDB_PASSWORD', '', kinds.anyText, 'password for it'),
  questDbToken: orFile('HEADWATER_QUESTDB_TOKEN', '', kinds.token, 'token for it (bearer authentication), in place of name and password'),
  questDbPg: orFile(
    'HEADWATER_QUESTDB_PG',
    'postgres://admin:quest@localhost:8812/qdb',
    kinds.pgUrl,
    'QuestDB over the PostgreSQL protocol, for reading; `?sslmode=verify-full` encrypts and checks its certificate',
  ),
  questDbCa: orFile(
    'HEADWATER_QUESTDB_CA',
    '',
    kinds.certificates,
    'certificates of the authorities to trust at both addresses of QuestDB, in PEM; the well-known ones without it',
  ),
  partitioning: ofCluster(
    'HEADWATER_QUESTDB_PARTITION',
    'DAY',
    kinds.oneOf('HOUR', 'DAY', 'WEEK', 'MONTH'),
    'size of the partitions of QuestDB, when the tables are made: `HOUR` for more than about 5 million points an hour, `WEEK` or `MONTH` for few points over many years; the same for all processors',
  ),
  questDbCommit: ofCluster(
    'HEADWATER_QUESTDB_COMMIT',
    'sync',
    kinds.oneOf('sync', 'any'),
    '`sync` writes only to a QuestDB whose accepted rows survive a power cut (`cairo.commit.mode=sync`, which is not its default); `any` writes to every one, and after a power cut `headwater rebuild` must be run',
  ),
  checkpointS: ofCluster(
    'HEADWATER_CHECKPOINT_SECONDS',
    '60',
    // Reads take the rows of buckets that ended ten minutes ago, so these rows must be written by then.
    kinds.whole(1, 300),
    'seconds between checkpoints of the processors, at most 300: late points may take so long to reach the rollups, and so much is read again after a crash',
  ),
} satisfies Record<string, Setting<unknown>>;

/** What all settings say, by their names. */
export type Config = { readonly [Name in keyof typeof settings]: NonNullable<ReturnType<(typeof settings)[Name]['parse']>> };
