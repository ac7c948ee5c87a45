import { beforeEach, describe, expect, it } from '@jest/globals';
import { Keyring, Organizations } from '#edge';
import type { Entry } from '#log';
import { MemoryLog } from '#testing';
import { apiKeys } from '#topics';
import { firstKey } from './first-key.js';

/** Takes the first four appends two at a time, so that neither of two writers sees what the other is about to write. */
class LogOfTwo extends MemoryLog {
  #appends = 0;
  #pair = Promise.withResolvers<void>();

  override async append(entries: readonly Entry[]): Promise<void> {
    const { promise, resolve } = this.#pair;
    if (++this.#appends % 2 === 0 || this.#appends > 4) {
      this.#pair = Promise.withResolvers<void>();
      resolve();
    }
    await promise;
    return super.append(entries);
  }
}

let organizations: Organizations;
let keyring: Keyring;
beforeEach(() => {
  const log = new MemoryLog();
  organizations = new Organizations(log, log, Date.now);
  keyring = new Keyring(log, log, Date.now);
});

describe('the first key', () => {
  it('may do everything, in an organization with a payment method on file', async () => {
    const caller = keyring.verify((await firstKey(organizations, keyring))!)!;
    expect(caller.scopes).toEqual(['read', 'write', 'admin']);
    expect(organizations.hasPaymentMethod(caller.orgId)).toBe(true);
  });

  it('is made once', async () => {
    await firstKey(organizations, keyring);
    expect(await firstKey(organizations, keyring)).toBeUndefined();
    expect(organizations.list()).toHaveLength(1);
  });

  it('is made for the organization of a first start that was cut off', async () => {
    const { orgId } = await organizations.create('Cut off', true);
    expect(keyring.verify((await firstKey(organizations, keyring))!)?.orgId).toBe(orgId);
    expect(organizations.list()).toHaveLength(1);
  });

  it('is not made when it cannot be shown, and works once it is', async () => {
    await expect(firstKey(organizations, keyring, () => Promise.reject(new Error('the terminal is gone')))).rejects.toThrow(
      'the terminal is gone',
    );
    expect(organizations.list().flatMap(({ orgId }) => keyring.list(orgId))).toEqual([]);
    const shown: string[] = [];
    await firstKey(organizations, keyring, async (secret) => {
      expect(keyring.verify(secret)).toBeUndefined();
      shown.push(secret);
    });
    expect(shown.map((secret) => keyring.verify(secret)?.scopes)).toEqual([['read', 'write', 'admin']]);
  });

  it('is one when two make it at the same time', async () => {
    const log = new LogOfTwo();
    const both = [2, 1].map((nowMs) => ({
      organizations: new Organizations(log, log, () => nowMs),
      keyring: new Keyring(log, log, () => nowMs),
    }));
    const made = await Promise.all(both.map((one) => firstKey(one.organizations, one.keyring)));
    const secrets = made.flatMap((secret) => secret ?? []);
    expect(secrets).toHaveLength(1);
    const { orgId } = both[1]!.keyring.verify(secrets[0]!)!;
    expect(both[0]!.organizations.list().map((organization) => organization.orgId)).toEqual([orgId]);
    expect(both[0]!.keyring.list(orgId)).toHaveLength(1);
    expect(log.values(apiKeys).map((key) => key === null)).toEqual([false, false, true]);
  });

  it('is not made where somebody else has made organizations', async () => {
    await organizations.create('A', true);
    await organizations.create('B', true);
    expect(await firstKey(organizations, keyring)).toBeUndefined();
  });
});
