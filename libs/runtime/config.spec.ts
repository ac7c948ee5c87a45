import { describe, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { readConfig, StartError } from './config.js';

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({ HEADWATER_PORT: '' })).toEqual({
      dataDir: resolve('data'),
      host: '127.0.0.1',
      port: 8080,
      adminPort: 8081,
      logLevel: 'info',
    });
  });

  it('comes from the environment', () => {
    const env = {
      HEADWATER_DATA: '/d',
      HEADWATER_HOST: '::',
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '65535',
      HEADWATER_LOG_LEVEL: 'warn',
    };
    expect(readConfig(env)).toEqual({ dataDir: '/d', host: '::', port: 0, adminPort: 65_535, logLevel: 'warn' });
  });

  it('names all mistakes at once', () => {
    const env = { HEADWATER_PORT: '65536', HEADWATER_ADMIN_PORT: '80 ', HEADWATER_LOG_LEVEL: 'loud', HEADWATER_HOST: 'a b' };
    expect(() => readConfig(env)).toThrow(StartError);
    expect(() => readConfig(env)).toThrow(
      [
        'HEADWATER_HOST must be an address or host name, not "a b".',
        'HEADWATER_PORT must be a port from 0 to 65535, not "65536".',
        'HEADWATER_ADMIN_PORT must be a port from 0 to 65535, not "80 ".',
        'HEADWATER_LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud".',
      ].join('\n'),
    );
  });

  it('has two different ports', () => {
    expect(() => readConfig({ HEADWATER_PORT: '9000', HEADWATER_ADMIN_PORT: '9000' })).toThrow(
      'HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.',
    );
  });
});
