import { describe, expect, it } from '@jest/globals';
import { maxDigestsAtOnce, maxDigestsWaiting, Passwords } from './passwords.js';

const passwords = new Passwords();
const password = 'correct horse battery';
/** Of the same password, at nearly no cost. */
const cheap = '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$uxWTSOnvlCJwDdrvGjf7x3xvw771mTCJHUN5gdfCrTw';

/** What it costs to check a password, in KiB that are written. */
async function costOf(digest: string | undefined): Promise<number> {
  const beforeKib = passwords.spentKib;
  await passwords.verify(digest, 'wrong');
  return passwords.spentKib - beforeKib;
}

describe('the digest of a password', () => {
  it('says what it cost, is another one each time, and fits its password only', async () => {
    const digest = await passwords.digest(password);
    expect(digest).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await passwords.digest(password)).not.toBe(digest);
    expect(await passwords.verify(digest, password)).toBe(true);
    expect(await passwords.verify(digest, `${password}!`)).toBe(false);
  });

  it('fits the same characters in other code points', async () => {
    expect(await passwords.verify(await passwords.digest('caf\u00e9 and much cake'), 'cafe\u0301 and much cake')).toBe(true);
  });

  it('is checked at the cost that it says', async () => {
    expect([await passwords.verify(cheap, password), await passwords.verify(cheap, 'x')]).toEqual([true, false]);
  });

  it.each([[undefined], [''], ['$argon2id$v=19$m=19456,t=2,p=1$$'], ['$2b$10$abc'], [password]])('%j is nobody’s', async (digest) => {
    expect(await passwords.verify(digest, '')).toBe(false);
    expect(await passwords.verify(digest, password)).toBe(false);
  });

  it('costs as much where there is none', async () => {
    const digest = await passwords.digest(password);
    expect(await costOf(digest)).toBe(2 * 19_456);
    expect([await costOf(undefined), await costOf(''), await costOf(cheap)]).toEqual([2 * 19_456, 2 * 19_456, 8]);
  });

  it('of one person too many is not made: the others are', async () => {
    const places = maxDigestsAtOnce + maxDigestsWaiting;
    const outcomes = await Promise.allSettled(Array.from({ length: places + 1 }, () => passwords.verify(cheap, password)));
    expect(outcomes.filter((one) => one.status === 'fulfilled' && one.value)).toHaveLength(places);
    expect(outcomes.at(-1)).toMatchObject({ reason: { code: 'overloaded', retryAfterS: 2 } });
    expect(await passwords.verify(cheap, password)).toBe(true);
  });
});
