import { mkdtempSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findServer, readSettings, settingsFile, writeSettings } from './settings-file.js';

const names = ['HEADWATER_URL', 'HEADWATER_API_KEY', 'XDG_CONFIG_HOME'];
const before = names.map((name) => [name, process.env[name]] as const);

beforeEach(() => {
  for (const name of names) delete process.env[name];
  process.env['XDG_CONFIG_HOME'] = mkdtempSync(join(tmpdir(), 'headwater-client-'));
});

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const file = { url: 'http://file:1', apiKey: 'file' };

describe('address and key', () => {
  it.each([
    ['of nothing', {}, {}, {}, 'http://localhost:8080', undefined],
    ['of the file', {}, {}, file, 'http://file:1', 'file'],
    [
      'of the environment before the file',
      {},
      { HEADWATER_URL: 'http://env:2/', HEADWATER_API_KEY: ' env\n' },
      file,
      'http://env:2',
      'env',
    ],
    [
      'of the argument before all',
      { url: 'https://arg/a//', apiKey: 'arg' },
      { HEADWATER_URL: 'http://env:2' },
      file,
      'https://arg/a',
      'arg',
    ],
    ['each by itself', { apiKey: 'arg' }, { HEADWATER_URL: 'http://env:2' }, file, 'http://env:2', 'arg'],
    ['where empty is not given', { url: '', apiKey: '' }, { HEADWATER_URL: '' }, file, 'http://file:1', 'file'],
  ])('%s', async (_, where, environment, stored, url, apiKey) => {
    Object.assign(process.env, environment);
    expect(await findServer(where, () => Promise.resolve(stored))).toEqual({ url, apiKey, fetch: undefined });
  });

  it.each([
    ['ftp://a', 'is not the address of a server'],
    ['localhost:8080', 'is not the address of a server'],
    ['http://me:secret@a', 'with nothing else in it'],
    ['http://a/?b', 'with nothing else in it'],
  ])('%s is no address', async (url, sentence) => {
    await expect(findServer({ url, apiKey: 'k' }, readSettings)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(sentence),
    });
  });

  it.each(['ké', 'two words', ' '])('%j is no key, and the error does not show it', async (apiKey) => {
    const error = (await findServer({ url: 'http://a', apiKey }, readSettings).catch((cause: unknown) => cause)) as Error;
    expect(error).toMatchObject({ code: 'invalid_argument', message: expect.not.stringContaining('words') });
  });

  it('is read as it was written, by the user only', async () => {
    expect(await readSettings()).toEqual({});
    await writeSettings(file);
    await writeSettings({ ...file, url: 'http://file:2' });
    expect(await readSettings()).toEqual({ url: 'http://file:2', apiKey: 'file' });
    expect(statSync(settingsFile()).mode & 0o777).toBe(0o600);
  });

  it('of a broken file is an error that names it, unless both are given elsewhere', async () => {
    mkdirSync(join(process.env['XDG_CONFIG_HOME']!, 'headwater'));
    writeFileSync(settingsFile(), '{');
    await expect(findServer({ apiKey: 'k' }, readSettings)).rejects.toMatchObject({
      code: 'invalid_settings',
      message: expect.stringContaining(settingsFile()),
    });
    expect(await findServer({ apiKey: 'k', url: 'http://a' }, readSettings)).toMatchObject({ apiKey: 'k' });
  });
});
