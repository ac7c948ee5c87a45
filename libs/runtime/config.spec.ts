import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OperatorError } from '#model';
import { Authority } from '#testing';
import { readConfig } from './config.js';
import { settings, type Setting } from './settings.js';

const defaults = {
  dataDir: resolve('data'),
  keepLogMs: Infinity,
  keepPointsMs: Infinity,
  keep1mMs: Infinity,
  keep1hMs: Infinity,
  keep1dMs: Infinity,
  keepEventsMs: Infinity,
  host: '127.0.0.1',
  port: 8080,
  adminHost: '127.0.0.1',
  adminPort: 8081,
  backupToken: '',
  trustedProxies: [],
  publicUrl: '',
  logLevel: 'info',
  maxSources: 'auto',
  maxSeries: 'auto',
  maxTagSets: 'auto',
  alertNetworks: [],
  smtpUrl: '',
  mailFrom: '',
  oidcIssuer: '',
  oidcClientId: '',
  oidcClientSecret: '',
  brokers: ['localhost:9092'],
  kafkaTls: 'off',
  kafkaCa: '',
  kafkaCert: '',
  kafkaKey: '',
  kafkaSasl: '',
  kafkaUsername: '',
  kafkaPassword: '',
  topicPrefix: '',
  sessionS: 10,
  replication: 1,
  registryUrl: 'http://localhost:8085/apis/ccompat/v7',
  registryCa: '',
  registryUsername: '',
  registryPassword: '',
  registryToken: '',
  cacheDir: resolve('data/cache'),
  questDbUrl: 'http://localhost:9000',
  questDbUsername: '',
  questDbPassword: '',
  questDbToken: '',
  questDbPg: 'postgres://admin:quest@localhost:8812/qdb',
  questDbCa: '',
  partitioning: 'DAY',
  questDbCommit: 'sync',
  checkpointS: 60,
};

const authority = new Authority();
const ours = authority.certify();
const { cert: ca } = authority;

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({ HEADWATER_PORT: '' })).toEqual(defaults);
  });

  it('comes from the environment', () => {
    const env = {
      HEADWATER_DATA: '/d',
      HEADWATER_KEEP_LOG: '30d',
      HEADWATER_KEEP_POINTS: '36h',
      HEADWATER_KEEP_1M: '2d',
      HEADWATER_KEEP_1H: '2d',
      HEADWATER_KEEP_1D: 'all',
      HEADWATER_KEEP_EVENTS: '25h',
      HEADWATER_HOST: '::',
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_HOST: '::1',
      HEADWATER_ADMIN_PORT: '65535',
      HEADWATER_BACKUP_TOKEN: 'sixteen-is-enough',
      HEADWATER_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,::1,fd00::/8',
      HEADWATER_ALERT_NETWORKS: '10.1.0.0/16',
      HEADWATER_SMTP_URL: 'smtps://u:p@mail.example',
      HEADWATER_MAIL_FROM: 'hw@mail.example',
      HEADWATER_OIDC_ISSUER: 'https://id.example/realm/',
      HEADWATER_OIDC_CLIENT_ID: 'hw',
      HEADWATER_OIDC_CLIENT_SECRET: 's',
      HEADWATER_PUBLIC_URL: 'https://telemetry.example.com/',
      HEADWATER_LOG_LEVEL: 'warn',
      HEADWATER_MAX_SOURCES: '100',
      HEADWATER_MAX_SERIES: '1000',
      HEADWATER_MAX_TAG_SETS: '10',
      HEADWATER_KAFKA_BROKERS: 'a:9092, b.example:1',
      HEADWATER_KAFKA_TLS: 'on',
      HEADWATER_KAFKA_CA: ca,
      HEADWATER_KAFKA_CERT: ours.cert,
      HEADWATER_KAFKA_KEY: ours.key,
      HEADWATER_KAFKA_SASL: 'SCRAM-SHA-512',
      HEADWATER_KAFKA_USERNAME: 'u',
      HEADWATER_KAFKA_PASSWORD: 'p ',
      HEADWATER_KAFKA_PREFIX: 'two.',
      HEADWATER_SESSION_SECONDS: '2',
      HEADWATER_KAFKA_REPLICATION: '3',
      HEADWATER_REGISTRY_URL: 'https://registry/',
      HEADWATER_REGISTRY_CA: ca,
      HEADWATER_REGISTRY_USERNAME: '',
      HEADWATER_REGISTRY_PASSWORD: '',
      HEADWATER_REGISTRY_TOKEN: 't',
      HEADWATER_CACHE: '/c',
      HEADWATER_QUESTDB_URL: 'https://q:9000',
      HEADWATER_QUESTDB_USERNAME: 'u',
      HEADWATER_QUESTDB_PASSWORD: 'p',
      HEADWATER_QUESTDB_TOKEN: '',
      HEADWATER_QUESTDB_PG: 'postgres://u:p@q:8812/qdb?sslmode=verify-full',
      HEADWATER_QUESTDB_CA: ca,
      HEADWATER_QUESTDB_PARTITION: 'HOUR',
      HEADWATER_QUESTDB_COMMIT: 'any',
      HEADWATER_CHECKPOINT_SECONDS: '5',
    };
    expect(readConfig(env)).toEqual({
      dataDir: '/d',
      keepLogMs: 30 * 86_400_000,
      keepPointsMs: 36 * 3_600_000,
      keep1mMs: 48 * 3_600_000,
      keep1hMs: 48 * 3_600_000,
      keep1dMs: Infinity,
      keepEventsMs: 25 * 3_600_000,
      host: '::',
      port: 0,
      adminHost: '::1',
      adminPort: 65_535,
      backupToken: 'sixteen-is-enough',
      trustedProxies: ['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8'],
      publicUrl: 'https://telemetry.example.com',
      logLevel: 'warn',
      maxSources: 100,
      maxSeries: 1000,
      maxTagSets: 10,
      alertNetworks: ['10.1.0.0/16'],
      smtpUrl: 'smtps://u:p@mail.example',
      mailFrom: 'hw@mail.example',
      oidcIssuer: 'https://id.example/realm/',
      oidcClientId: 'hw',
      oidcClientSecret: 's',
      brokers: ['a:9092', 'b.example:1'],
      kafkaTls: 'on',
      kafkaCa: ca,
      kafkaCert: ours.cert,
      kafkaKey: ours.key,
      kafkaSasl: 'SCRAM-SHA-512',
      kafkaUsername: 'u',
      kafkaPassword: 'p ',
      topicPrefix: 'two.',
      sessionS: 2,
      replication: 3,
      registryUrl: 'https://registry',
      registryCa: ca,
      registryUsername: '',
      registryPassword: '',
      registryToken: 't',
      cacheDir: '/c',
      questDbUrl: 'https://q:9000',
      questDbUsername: 'u',
      questDbPassword: 'p',
      questDbToken: '',
      questDbPg: 'postgres://u:p@q:8812/qdb?sslmode=verify-full',
      questDbCa: ca,
      partitioning: 'HOUR',
      questDbCommit: 'any',
      checkpointS: 5,
    });
    expect(Object.keys(env).toSorted()).toEqual(
      Object.values(settings)
        .map(({ variable }) => variable)
        .toSorted(),
    );
  });

  it('names all mistakes at once', () => {
    const env = {
      HEADWATER_KEEP_LOG: '23h',
      HEADWATER_KEEP_POINTS: '23h',
      HEADWATER_KEEP_1D: '1y',
      HEADWATER_KEEP_EVENTS: '0d',
      HEADWATER_PORT: '65536',
      HEADWATER_ADMIN_HOST: 'a b',
      HEADWATER_ADMIN_PORT: '80 ',
      HEADWATER_TRUSTED_PROXIES: '10.0.0.0/33',
      HEADWATER_PUBLIC_URL: 'https://x.example/app',
      HEADWATER_LOG_LEVEL: 'loud',
      HEADWATER_HOST: 'a b',
      HEADWATER_MAX_SERIES: '0',
      HEADWATER_KAFKA_BROKERS: 'a:1,,b:2',
      HEADWATER_KAFKA_REPLICATION: '0',
      HEADWATER_REGISTRY_URL: 'registry:8085',
      HEADWATER_KAFKA_TLS: 'true',
      HEADWATER_KAFKA_SASL: 'GSSAPI',
      HEADWATER_KAFKA_CA: '/etc/ca.pem',
      HEADWATER_QUESTDB_URL: 'q:9000',
      HEADWATER_QUESTDB_PG: 'postgres://q/qdb?sslmode=no-verify',
      HEADWATER_QUESTDB_PARTITION: 'day',
      HEADWATER_QUESTDB_COMMIT: 'nosync',
      HEADWATER_CHECKPOINT_SECONDS: '301',
    };
    expect(() => readConfig(env)).toThrow(OperatorError);
    expect(() => readConfig(env)).toThrow(
      [
        'HEADWATER_KEEP_LOG must be all, or a time of at least 24h such as 36h or 30d, not "23h".',
        'HEADWATER_KEEP_POINTS must be all, or a time of at least 24h such as 36h or 30d, not "23h".',
        'HEADWATER_KEEP_1D must be all, or a time of at least 24h such as 36h or 30d, not "1y".',
        'HEADWATER_KEEP_EVENTS must be all, or a time of at least 24h such as 36h or 30d, not "0d".',
        'HEADWATER_HOST must be an address or host name, not "a b".',
        'HEADWATER_PORT must be a port from 0 to 65535, not "65536".',
        'HEADWATER_ADMIN_HOST must be an address or host name, not "a b".',
        'HEADWATER_ADMIN_PORT must be a port from 0 to 65535, not "80 ".',
        'HEADWATER_TRUSTED_PROXIES must be addresses or networks like 10.0.0.0/8 with commas between, not "10.0.0.0/33".',
        'HEADWATER_PUBLIC_URL must be a URL that begins with http:// or https:// and ends with the host or its port.',
        'HEADWATER_LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud".',
        'HEADWATER_MAX_SERIES must be auto, or a whole number from 1 to 999999999, not "0".',
        'HEADWATER_KAFKA_BROKERS must be addresses like host:9092 with commas between, not "a:1,,b:2".',
        'HEADWATER_KAFKA_TLS must be one of off, on, not "true".',
        'HEADWATER_KAFKA_CA must be certificates in PEM.',
        'HEADWATER_KAFKA_SASL must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not "GSSAPI".',
        'HEADWATER_KAFKA_REPLICATION must be a whole number from 1 to 9, not "0".',
        'HEADWATER_REGISTRY_URL must be a URL that begins with http:// or https://, without a name or password in it, not "registry:8085".',
        'HEADWATER_QUESTDB_URL must be a URL that begins with http:// or https://, without a name or password in it, not "q:9000".',
        'HEADWATER_QUESTDB_PG must be a URL that begins with postgres://, with sslmode=verify-full and nothing else for TLS.',
        'HEADWATER_QUESTDB_PARTITION must be one of HOUR, DAY, WEEK, MONTH, not "day".',
        'HEADWATER_QUESTDB_COMMIT must be one of sync, any, not "nosync".',
        'HEADWATER_CHECKPOINT_SECONDS must be a whole number from 1 to 300, not "301".',
      ].join('\n'),
    );
  });

  it.each([
    ['HEADWATER_QUESTDB_PG', 'http://u:secret@q'],
    ['HEADWATER_QUESTDB_PG', 'secret'],
    ['HEADWATER_QUESTDB_PG', 'postgres://u:secret@q/qdb?sslmode=verify-full&ssl=false'],
    ['HEADWATER_REGISTRY_URL', 'ftp://u:secret@q'],
    ['HEADWATER_REGISTRY_URL', 'https://u:secret@q'],
    ['HEADWATER_REGISTRY_URL', 'u:secret@q'],
    ['HEADWATER_REGISTRY_TOKEN', 'secret with a blank'],
    ['HEADWATER_OIDC_ISSUER', 'https://u:secret@id.example'],
    ['HEADWATER_OIDC_ISSUER', 'http://secret.example'],
    ['HEADWATER_KAFKA_KEY', 'secret'],
    ['HEADWATER_KAFKA_PASSWORD_FILE', 'secret'],
  ])('shows no secret in a mistake: %s', (variable, value) => {
    const mistake = (): unknown => readConfig({ [variable]: value });
    expect(mistake).toThrow(variable);
    expect(mistake).not.toThrow('secret');
  });

  describe('takes secrets and certificates from files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headwater-config-'));
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const login = { HEADWATER_KAFKA_SASL: 'PLAIN', HEADWATER_KAFKA_USERNAME: 'u' };

    it.each([
      ['p\n', 'p'],
      ['p\r\n', 'p'],
      [' p \n\n', ' p \n'],
    ])('%j is the password %j', (text, password) => {
      expect(readConfig({ ...login, HEADWATER_KAFKA_PASSWORD_FILE: file('password', text) }).kafkaPassword).toBe(password);
    });

    it('each of those that may be long or secret', () => {
      const files = Object.fromEntries(
        Object.entries({ CA: ca, CERT: ours.cert, KEY: ours.key }).map(([name, text]) => [
          `HEADWATER_KAFKA_${name}_FILE`,
          file(name, text),
        ]),
      );
      expect(readConfig({ HEADWATER_KAFKA_TLS: 'on', ...files })).toMatchObject({ kafkaCa: ca.trimEnd(), kafkaKey: ours.key.trimEnd() });
    });

    it.each<[string, Record<string, string>, string]>([
      [
        'one that is not there',
        { HEADWATER_KAFKA_PASSWORD_FILE: join(folder, 'none') },
        'HEADWATER_KAFKA_PASSWORD_FILE names a file that cannot be read (ENOENT).',
      ],
      ['a folder', { HEADWATER_KAFKA_PASSWORD_FILE: folder }, 'HEADWATER_KAFKA_PASSWORD_FILE names a file that cannot be read (EISDIR).'],
      ['one that is empty', { HEADWATER_QUESTDB_PG_FILE: file('empty', '\n') }, 'HEADWATER_QUESTDB_PG_FILE names a file that is empty.'],
      [
        'one beside the variable',
        { HEADWATER_KAFKA_PASSWORD: 'p', HEADWATER_KAFKA_PASSWORD_FILE: file('p', 'q') },
        'Set HEADWATER_KAFKA_PASSWORD or HEADWATER_KAFKA_PASSWORD_FILE, not both.',
      ],
    ])('but not %s', (_, env, sentence) => {
      expect(() => readConfig(env)).toThrow(new OperatorError(sentence));
    });
  });

  it.each<[string, Record<string, string>]>([
    [
      'HEADWATER_KAFKA_SASL and HEADWATER_KAFKA_USERNAME cannot do without HEADWATER_KAFKA_PASSWORD.',
      { HEADWATER_KAFKA_SASL: 'PLAIN', HEADWATER_KAFKA_USERNAME: 'u' },
    ],
    ['HEADWATER_KAFKA_PASSWORD cannot do without HEADWATER_KAFKA_SASL and HEADWATER_KAFKA_USERNAME.', { HEADWATER_KAFKA_PASSWORD: 'p' }],
    ['HEADWATER_KAFKA_CERT cannot do without HEADWATER_KAFKA_KEY.', { HEADWATER_KAFKA_TLS: 'on', HEADWATER_KAFKA_CERT: ours.cert }],
    [
      'HEADWATER_KAFKA_KEY is not the key of HEADWATER_KAFKA_CERT.',
      { HEADWATER_KAFKA_TLS: 'on', HEADWATER_KAFKA_CERT: ours.cert, HEADWATER_KAFKA_KEY: authority.certify().key },
    ],
    [
      'HEADWATER_OIDC_ISSUER cannot do without HEADWATER_PUBLIC_URL.',
      { HEADWATER_OIDC_ISSUER: 'http://localhost:9', HEADWATER_OIDC_CLIENT_ID: 'hw', HEADWATER_OIDC_CLIENT_SECRET: 's' },
    ],
    ['HEADWATER_KAFKA_CA needs HEADWATER_KAFKA_TLS=on.', { HEADWATER_KAFKA_CA: ca }],
    ['HEADWATER_REGISTRY_CA needs an https:// URL in HEADWATER_REGISTRY_URL.', { HEADWATER_REGISTRY_CA: ca }],
    [
      'HEADWATER_QUESTDB_CA needs an https:// URL in HEADWATER_QUESTDB_URL, or sslmode=verify-full in HEADWATER_QUESTDB_PG.',
      { HEADWATER_QUESTDB_CA: ca, HEADWATER_QUESTDB_PG: 'postgres://q/qdb?sslmode=disable' },
    ],
    [
      'HEADWATER_KEEP_1H must be at least as long as HEADWATER_KEEP_1M, which is all unless you set it.',
      { HEADWATER_KEEP_POINTS: '7d', HEADWATER_KEEP_1H: '300d' },
    ],
    [
      'HEADWATER_KEEP_1M must be at least as long as HEADWATER_KEEP_POINTS, which is all unless you set it.',
      { HEADWATER_KEEP_POINTS: '31d', HEADWATER_KEEP_1M: '30d' },
    ],
    [
      'Set HEADWATER_REGISTRY_USERNAME or HEADWATER_REGISTRY_TOKEN, not both.',
      { HEADWATER_REGISTRY_USERNAME: 'u', HEADWATER_REGISTRY_PASSWORD: 'p', HEADWATER_REGISTRY_TOKEN: 't' },
    ],
  ])('says what belongs together: %s', (sentence, env) => {
    expect(() => readConfig(env)).toThrow(new OperatorError(sentence));
  });

  it('has two different ports', () => {
    expect(() => readConfig({ HEADWATER_PORT: '9000', HEADWATER_ADMIN_PORT: '9000' })).toThrow(
      'HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.',
    );
  });

  it('is what the table of the README says', () => {
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    const readers = { embedded: 'server', cluster: 'roles' };
    const row = ({ variable, mayBeFile, default: usual, shape, about }: Setting<unknown>): string =>
      `| \`${variable}\`${mayBeFile ? ', `_FILE`' : ''} | ${usual && `\`${usual}\``} | ${shape ? readers[shape] : 'both'} | ${about} |`;
    expect(readme.match(/^\| `HEADWATER_\w+`(, `_FILE`)? \|.*\|$/gm)).toEqual(Object.values<Setting<unknown>>(settings).map(row));
  });
});
