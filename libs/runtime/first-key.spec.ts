import { beforeEach, describe, expect, it } from '@jest/globals';
import { Keyring } from '#edge';
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

let keyring: Keyring;
beforeEach(() => {
  const log = new MemoryLog();
  keyring = new Keyring(log, log, Date.now);
});

describe('the first key', () => {
  it('may do everything, in an organization with a payment method on file', async () => {
    const caller = keyring.verify((await firstKey(keyring))!)!;
    expect(caller.scopes).toEqual(['read', 'write', 'admin']);
    expect(keyring.hasPaymentMethod(caller.orgId)).toBe(true);
  });

  it('is made once', async () => {
    await firstKey(keyring);
    expect(await firstKey(keyring)).toBeUndefined();
    expect(keyring.organizations()).toHaveLength(1);
  });

  it('is made for the organization of a first start that was cut off', async () => {
    const { orgId } = await keyring.createOrganization('Cut off', true);
    expect(keyring.verify((await firstKey(keyring))!)?.orgId).toBe(orgId);
    expect(keyring.organizations()).toHaveLength(1);
  });

  it('is not made when it cannot be shown, and works once it is', async () => {
    await expect(firstKey(keyring, () => Promise.reject(new Error('the terminal is gone')))).rejects.toThrow('the terminal is gone');
    expect(keyring.organizations().flatMap(({ orgId }) => keyring.list(orgId))).toEqual([]);
    const shown: string[] = [];
    await firstKey(keyring, async (secret) => {
      expect(keyring.verify(secret)).toBeUndefined();
      shown.push(secret);
    });
    expect(shown.map((secret) => keyring.verify(secret)?.scopes)).toEqual([['read', 'write', 'admin']]);
  });

  it('is one when two make it at the same time', async () => {
    const log = new LogOfTwo();
    const keyrings = [new Keyring(log, log, () => 2), new Keyring(log, log, () => 1)];
    const made = await Promise.all(keyrings.map((one) => firstKey(one)));
    const secrets = made.flatMap((secret) => secret ?? []);
    expect(secrets).toHaveLength(1);
    const { orgId } = keyrings[1]!.verify(secrets[0]!)!;
    expect(keyrings[0]!.organizations().map((organization) => organization.orgId)).toEqual([orgId]);
    expect(keyrings[0]!.list(orgId)).toHaveLength(1);
    expect(log.values(apiKeys).map((key) => key === null)).toEqual([false, false, true]);
  });

  it('is not made where somebody else has made organizations', async () => {
    await keyring.createOrganization('A', true);
    await keyring.createOrganization('B', true);
    expect(await firstKey(keyring)).toBeUndefined();
  });
});
