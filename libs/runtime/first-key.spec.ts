import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Commands, KeyCommands, Keyring, Organizations, whileDeciding } from '#edge';
import { TelemetryError, type ApiKey } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { keysGroup } from '#topics';
import { firstKey } from './first-key.js';

let folder: string;
let storage: Storage;
let organizations: Organizations;
let keyring: Keyring;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-first-key-'));
  storage = await openStorage(folder);
  organizations = new Organizations(storage.views, storage.log, Date.now);
  keyring = new Keyring(storage.views);
  await Promise.all([organizations.ready, keyring.ready]);
});
afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

const createFirst = (key: ApiKey): Promise<boolean> =>
  whileDeciding(keysGroup, storage.log, storage.views, Date.now, () =>
    new KeyCommands(new Commands(storage.views, storage.log, Date.now), Date.now).createFirst(key),
  );
const make = (show?: (secret: string) => Promise<void>): Promise<string | undefined> => firstKey(organizations, keyring, createFirst, show);
const keys = (): readonly ApiKey[] => organizations.list().flatMap(({ orgId }) => keyring.list(orgId));

describe('the first key', () => {
  it('may do everything, in an organization with a payment method on file', async () => {
    const caller = keyring.verify((await make())!)!;
    expect(caller.scopes).toEqual(['read', 'write', 'admin']);
    expect(organizations.hasPaymentMethod(caller.orgId)).toBe(true);
  });

  it('is made once, and nobody is asked or shown one again', async () => {
    await make();
    const never = (): Promise<never> => Promise.reject(new Error('asked again'));
    expect(await firstKey(organizations, keyring, never, never)).toBeUndefined();
    expect(organizations.list()).toHaveLength(1);
  });

  it('is made for the organization of a first start that was cut off', async () => {
    const { orgId } = await organizations.create('Cut off', true);
    expect(keyring.verify((await make())!)?.orgId).toBe(orgId);
    expect(organizations.list()).toHaveLength(1);
  });

  it('is not made when it cannot be shown, and works once it is', async () => {
    await expect(make(() => Promise.reject(new Error('the terminal is gone')))).rejects.toThrow('the terminal is gone');
    expect(keys()).toEqual([]);
    const shown: string[] = [];
    await make(async (secret) => {
      expect(keyring.verify(secret)).toBeUndefined();
      shown.push(secret);
    });
    expect(shown.map((secret) => keyring.verify(secret)?.scopes)).toEqual([['read', 'write', 'admin']]);
  });

  it('that was shown and not made is said not to work', async () => {
    const show = (): Promise<void> => Promise.resolve();
    const refused = firstKey(organizations, keyring, () => Promise.resolve(false), show);
    await expect(refused).rejects.toThrow('The API key above does not work: another one has been made meanwhile.');
    const broken = firstKey(organizations, keyring, () => Promise.reject(new Error('The disk is gone.')), show);
    await expect(broken).rejects.toThrow('The API key above may not work: The disk is gone. Start again');
  });

  it('is asked for again, the same, while nobody decides in time', async () => {
    const asked: string[] = [];
    const secret = await firstKey(organizations, keyring, (key) => {
      asked.push(key.keyId);
      return asked.length < 3 ? Promise.reject(new TelemetryError('log_unavailable', 'Nobody decides.')) : createFirst(key);
    });
    expect(asked).toEqual(Array.from({ length: 3 }, () => keyring.verify(secret!)!.keyId));
  });

  it('is one when two make it at the same time', async () => {
    const made = await whileDeciding(keysGroup, storage.log, storage.views, Date.now, () => {
      const commands = [1, 2].map(() => new KeyCommands(new Commands(storage.views, storage.log, Date.now), Date.now));
      return Promise.all(commands.map((each) => firstKey(organizations, keyring, (key) => each.createFirst(key))));
    });
    const secrets = made.flatMap((secret) => secret ?? []);
    expect([secrets.length, organizations.list().length]).toEqual([1, 1]);
    expect(keys().map(({ keyId }) => keyId)).toEqual([keyring.verify(secrets[0]!)!.keyId]);
  });

  it('is not made where somebody else has made organizations', async () => {
    await organizations.create('A', true);
    await organizations.create('B', true);
    expect(await make()).toBeUndefined();
  });
});
