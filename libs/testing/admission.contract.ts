import { beforeEach, describe, expect, it } from '@jest/globals';
import { Keyring, Organizations, type Access, type Clock } from '#edge';
import { entry, tombstone } from '#log';
import type { ErrorCode, Scope } from '#model';
import { apiKeys, organizations as organizationsTopic } from '#topics';
import { makeKey } from './make-keys.js';
import { MemoryLog } from './memory-log.js';

/** What the doors of this suite ask for. */
export const accesses = {
  any: {},
  write: { scope: 'write' },
  admin: { scope: 'admin' },
  changes: { changes: true },
  unpaid: { payment: false },
  unpaidAdmin: { scope: 'admin', payment: false },
} as const satisfies Record<string, Access>;

/** One way in, such as a header of a request or the first frame of a socket. */
export interface Door {
  /** Comes with a key. Resolves with `in`, or with the code of the refusal. */
  enter(apiKey: string | undefined, access?: keyof typeof accesses, address?: string): Promise<'in' | ErrorCode>;
  /** From now on there is something that has not been read yet. */
  shut(): void;
}

const nobodys = 'hw_00000000000000000000000000000000';

/** Every promise of `Admission`; whatever lets somebody in must pass. */
export function admissionContract(open: (log: MemoryLog, clock: Clock) => Promise<Door>): void {
  let log: MemoryLog;
  let nowMs: number;
  let organizations: Organizations;
  let keyring: Keyring;
  let door: Door;
  beforeEach(async () => {
    log = new MemoryLog();
    nowMs = Date.UTC(2026, 0, 1);
    organizations = new Organizations(log, log, () => nowMs);
    keyring = new Keyring(log);
    door = await open(log, () => nowMs);
  });

  async function keyOf(paid: boolean, ...scopes: Scope[]): Promise<string> {
    const { orgId } = await organizations.create('O', paid);
    return (await makeKey(log, orgId, scopes)).secret;
  }
  const guess = (at: number, address?: string): Promise<'in' | ErrorCode> => door.enter(`hw_guess${at}`, 'any', address);
  const guesses = (count: number, address?: string): Promise<('in' | ErrorCode)[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => guess(at, address)));

  it('reads and changes things with the scope for it only, where the organization enforces that', async () => {
    const organization = await organizations.create('O', true);
    await log.append([entry(organizationsTopic, { ...organization, enforceReadScope: true })]);
    const [reader, writer] = await Promise.all([['read'], ['write']].map((its) => makeKey(log, organization.orgId, its as Scope[])));
    expect([await door.enter(reader!.secret), await door.enter(writer!.secret)]).toEqual(['in', 'missing_scope']);
    expect([await door.enter(reader!.secret, 'write'), await door.enter(writer!.secret, 'write')]).toEqual(['missing_scope', 'in']);
    expect([await door.enter(reader!.secret, 'changes'), await door.enter(writer!.secret, 'changes')]).toEqual(['missing_scope', 'in']);
    expect(await door.enter(writer!.secret, 'unpaid')).toBe('in');
  });

  it.each([
    [
      true,
      ['read'],
      { any: 'in', write: 'missing_scope', admin: 'missing_scope', changes: 'in', unpaid: 'in', unpaidAdmin: 'missing_scope' },
    ],
    [true, ['write'], { any: 'in', write: 'in', admin: 'missing_scope', changes: 'in', unpaid: 'in', unpaidAdmin: 'missing_scope' }],
    [true, ['read', 'write', 'admin'], { any: 'in', write: 'in', admin: 'in', changes: 'in', unpaid: 'in', unpaidAdmin: 'in' }],
    [
      false,
      ['read', 'write', 'admin'],
      {
        any: 'payment_required',
        write: 'payment_required',
        admin: 'payment_required',
        changes: 'payment_required',
        unpaid: 'in',
        unpaidAdmin: 'in',
      },
    ],
    [
      false,
      ['read'],
      {
        any: 'payment_required',
        write: 'payment_required',
        admin: 'payment_required',
        changes: 'payment_required',
        unpaid: 'in',
        unpaidAdmin: 'missing_scope',
      },
    ],
  ] as const)('of an organization with a payment method (%j) a key with the scopes %j', async (paid, scopes, expected) => {
    const key = await keyOf(paid, ...scopes);
    for (const [access, outcome] of Object.entries(expected))
      expect([access, await door.enter(key, access as keyof typeof accesses)]).toEqual([access, outcome]);
  });

  it('no key, a malformed one and one that nobody has are invalid, whatever is asked for', async () => {
    const key = await keyOf(true, 'write');
    for (const access of Object.keys(accesses) as (keyof typeof accesses)[])
      for (const wrong of [undefined, '', 'hw_short', `${key}x`, ` ${nobodys}`])
        expect(await door.enter(wrong, access)).toBe('invalid_key');
  });

  it('a deleted key is invalid at once, and no other one', async () => {
    const [key, other] = [await keyOf(true, 'write'), await keyOf(true, 'write')];
    expect(await door.enter(key, 'write')).toBe('in');
    await log.append([tombstone(apiKeys, keyring.verify(key)!.keyId)]);
    expect([await door.enter(key, 'write'), await door.enter(other, 'write')]).toEqual(['invalid_key', 'in']);
  });

  describe('an address that tries many keys', () => {
    it('is slowed down after 20 in a minute, for keys that are new, and no other address is', async () => {
      const key = await keyOf(true, 'read');
      expect(new Set(await guesses(20))).toEqual(new Set(['invalid_key']));
      expect(await guess(20)).toBe('too_many_failed_keys');
      expect(await guess(3)).toBe('invalid_key');
      expect(await door.enter(undefined)).toBe('invalid_key');
      expect(await door.enter(key)).toBe('in');
      expect(await guess(20, '192.0.2.1')).toBe('invalid_key');
      nowMs += 60_000;
      expect(await guess(20)).toBe('invalid_key');
    });

    it('is a network of IPv6, whose hosts have 2^64 addresses each', async () => {
      expect(new Set(await guesses(20, '2001:db8::1'))).toEqual(new Set(['invalid_key']));
      expect(await guess(20, '2001:db8:0:0:ffff::2')).toBe('too_many_failed_keys');
      expect(await guess(20, '2001:db8:0:1::1')).toBe('invalid_key');
    });
  });

  it('while the log is silent for more than 5 minutes nobody can tell which keys are valid', async () => {
    const key = await keyOf(true, 'read');
    log.silentMs = 300_000;
    expect(await door.enter(key)).toBe('in');
    log.silentMs = 300_001;
    expect([await door.enter(key), await door.enter('hw_short')]).toEqual(['log_unavailable', 'invalid_key']);
    log.silentMs = 0;
    expect(await door.enter(key)).toBe('in');
  });

  it('while something has not been read yet nobody is let in, nor told that a key is invalid', async () => {
    const key = await keyOf(true, 'read');
    door.shut();
    expect([await door.enter(key), await door.enter('hw_short'), await door.enter(undefined)]).toEqual(
      Array.from({ length: 3 }, () => 'not_ready'),
    );
  });
}
