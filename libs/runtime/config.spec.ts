import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readConfig, type Setting, settings, StartError } from './config.js';

const defaults = {
  dataDir: resolve('data'),
  host: '127.0.0.1',
  port: 8080,
  adminHost: '127.0.0.1',
  adminPort: 8081,
  trustedProxies: [],
  logLevel: 'info',
  maxSources: 'auto',
  maxSeries: 'auto',
  maxTagSets: 'auto',
  brokers: ['localhost:9092'],
  topicPrefix: '',
  sessionS: 10,
  replication: 1,
  registryUrl: 'http://localhost:8085/apis/ccompat/v7',
  cacheDir: resolve('data/cache'),
  questDbUrl: 'http://localhost:9000',
  questDbPg: 'postgres://admin:quest@localhost:8812/qdb',
  partitioning: 'DAY',
  questDbCommit: 'sync',
  checkpointS: 60,
};

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({ HEADWATER_PORT: '' })).toEqual(defaults);
  });

  it('comes from the environment', () => {
    const env = {
      HEADWATER_DATA: '/d',
      HEADWATER_HOST: '::',
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_HOST: '::1',
      HEADWATER_ADMIN_PORT: '65535',
      HEADWATER_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,::1,fd00::/8',
      HEADWATER_LOG_LEVEL: 'warn',
      HEADWATER_MAX_SOURCES: '100',
      HEADWATER_MAX_SERIES: '1000',
      HEADWATER_MAX_TAG_SETS: '10',
      HEADWATER_KAFKA_BROKERS: 'a:9092, b.example:1',
      HEADWATER_KAFKA_PREFIX: 'two.',
      HEADWATER_SESSION_SECONDS: '2',
      HEADWATER_KAFKA_REPLICATION: '3',
      HEADWATER_REGISTRY_URL: 'https://registry/',
      HEADWATER_CACHE: '/c',
      HEADWATER_QUESTDB_URL: 'http://q:9000',
      HEADWATER_QUESTDB_PG: 'postgres://u:p@q:8812/qdb',
      HEADWATER_QUESTDB_PARTITION: 'HOUR',
      HEADWATER_QUESTDB_COMMIT: 'any',
      HEADWATER_CHECKPOINT_SECONDS: '5',
    };
    expect(readConfig(env)).toEqual({
      dataDir: '/d',
      host: '::',
      port: 0,
      adminHost: '::1',
      adminPort: 65_535,
      trustedProxies: ['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8'],
      logLevel: 'warn',
      maxSources: 100,
      maxSeries: 1000,
      maxTagSets: 10,
      brokers: ['a:9092', 'b.example:1'],
      topicPrefix: 'two.',
      sessionS: 2,
      replication: 3,
      registryUrl: 'https://registry',
      cacheDir: '/c',
      questDbUrl: 'http://q:9000',
      questDbPg: 'postgres://u:p@q:8812/qdb',
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
      HEADWATER_PORT: '65536',
      HEADWATER_ADMIN_HOST: 'a b',
      HEADWATER_ADMIN_PORT: '80 ',
      HEADWATER_TRUSTED_PROXIES: '10.0.0.0/33',
      HEADWATER_LOG_LEVEL: 'loud',
      HEADWATER_HOST: 'a b',
      HEADWATER_MAX_SERIES: '0',
      HEADWATER_KAFKA_BROKERS: 'a:1,,b:2',
      HEADWATER_KAFKA_REPLICATION: '0',
      HEADWATER_REGISTRY_URL: 'registry:8085',
      HEADWATER_QUESTDB_URL: 'https://q:9000',
      HEADWATER_QUESTDB_PG: 'http://q',
      HEADWATER_QUESTDB_PARTITION: 'day',
      HEADWATER_QUESTDB_COMMIT: 'nosync',
      HEADWATER_CHECKPOINT_SECONDS: '301',
    };
    expect(() => readConfig(env)).toThrow(StartError);
    expect(() => readConfig(env)).toThrow(
      [
        'HEADWATER_HOST must be an address or host name, not "a b".',
        'HEADWATER_PORT must be a port from 0 to 65535, not "65536".',
        'HEADWATER_ADMIN_HOST must be an address or host name, not "a b".',
        'HEADWATER_ADMIN_PORT must be a port from 0 to 65535, not "80 ".',
        'HEADWATER_TRUSTED_PROXIES must be addresses or networks like 10.0.0.0/8 with commas between, not "10.0.0.0/33".',
        'HEADWATER_LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud".',
        'HEADWATER_MAX_SERIES must be auto, or a whole number from 1 to 999999999, not "0".',
        'HEADWATER_KAFKA_BROKERS must be addresses like host:9092 with commas between, not "a:1,,b:2".',
        'HEADWATER_KAFKA_REPLICATION must be a whole number from 1 to 9, not "0".',
        'HEADWATER_REGISTRY_URL must be a URL that begins with http:// or https://, not "registry:8085".',
        'HEADWATER_QUESTDB_URL must be a URL that begins with http://.',
        'HEADWATER_QUESTDB_PG must be a URL that begins with postgres://.',
        'HEADWATER_QUESTDB_PARTITION must be one of HOUR, DAY, WEEK, MONTH, not "day".',
        'HEADWATER_QUESTDB_COMMIT must be one of sync, any, not "nosync".',
        'HEADWATER_CHECKPOINT_SECONDS must be a whole number from 1 to 300, not "301".',
      ].join('\n'),
    );
  });

  it('shows no password in a mistake', () => {
    expect(() => readConfig({ HEADWATER_QUESTDB_PG: 'http://u:secret@q' })).not.toThrow('secret');
    expect(() => readConfig({ HEADWATER_REGISTRY_URL: 'ftp://u:secret@q' })).not.toThrow('secret');
  });

  it('has two different ports', () => {
    expect(() => readConfig({ HEADWATER_PORT: '9000', HEADWATER_ADMIN_PORT: '9000' })).toThrow(
      'HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.',
    );
  });

  it('is what the table of the README says', () => {
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    const readers = { embedded: 'server', cluster: 'roles' };
    const row = ({ variable, default: usual, shape, about }: Setting<unknown>): string =>
      `| \`${variable}\` | ${usual && `\`${usual}\``} | ${shape ? readers[shape] : 'both'} | ${about} |`;
    expect(readme.match(/^\| `HEADWATER_\w+` \|.*\|$/gm)).toEqual(Object.values<Setting<unknown>>(settings).map(row));
  });
});
