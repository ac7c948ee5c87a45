import { beforeEach, describe, expect, it } from '@jest/globals';
import { Keyring } from '#edge';
import { MemoryLog } from '#testing';
import { firstKey } from './first-key.js';

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

  it('is not made where somebody else has made organizations', async () => {
    await keyring.createOrganization('A', true);
    await keyring.createOrganization('B', true);
    expect(await firstKey(keyring)).toBeUndefined();
  });
});
