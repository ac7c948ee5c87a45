import { beforeEach, describe, expect, it } from '@jest/globals';
import { TelemetryError } from '#model';
import { maxFailuresOfAccount, maxFailuresOfAddress, maxFailuresOfPair, SignInLimits, type Acquaintance } from './sign-in-limits.js';

let nowMs: number;
let limits: SignInLimits;
beforeEach(() => {
  nowMs = 1;
  limits = new SignInLimits(() => nowMs);
});

/** How many of so many attempts are let in; all of them fail. */
function letIn(count: number, email: string, address: (at: number) => string, who: Acquaintance = {}): number {
  let seen = 0;
  for (let at = 0; at < count; at++) {
    try {
      limits.begin(email, address(at), who);
      seen++;
    } catch (error) {
      if (!(error instanceof TelemetryError)) throw error;
    }
  }
  return seen;
}
const from = (address: string) => () => address;
const fromMany = (at: number): string => `10.${at >> 8}.${at & 255}.1`;

describe('wrong passwords', () => {
  it('for one account from one address are few, and from another the owner gets in', () => {
    expect(letIn(50, 'a@x', from('1.1.1.1'))).toBe(maxFailuresOfPair);
    expect(letIn(1, 'a@x', from('2.2.2.2'))).toBe(1);
    expect(() => limits.begin('a@x', '1.1.1.1')).toThrow(expect.objectContaining({ code: 'too_many_sign_ins', retryAfterS: 900 }));
  });

  it('from one address are bounded, whatever the account; who is known there gets in', () => {
    let seen = 0;
    for (let at = 0; at < 40; at++) seen += letIn(10, `${at}@x`, from('2001:db8::1'));
    expect(seen).toBe(maxFailuresOfAddress);
    expect(letIn(1, 'z@x', from('2001:db8::ffff'))).toBe(0);
    expect(letIn(1, 'z@x', from('2001:db8::ffff'), { isNear: true })).toBe(1);
  });

  it('for one account from everywhere leave one attempt to each address, and all of them to those it knows', () => {
    expect(letIn(maxFailuresOfAccount, 'a@x', fromMany)).toBe(maxFailuresOfAccount);
    expect(letIn(5, 'a@x', from('3.3.3.3'))).toBe(1);
    expect(letIn(50, 'a@x', from('4.4.4.4'), { isNear: true })).toBe(maxFailuresOfPair);
    expect(letIn(50, 'b@x', from('5.5.5.5'))).toBe(maxFailuresOfPair);
  });

  it('from the address of the owner leave all attempts to a browser that the account knows, which has no more than those', () => {
    expect(letIn(50, 'a@x', from('1.1.1.1'), { isNear: true })).toBe(maxFailuresOfPair);
    expect(letIn(50, 'a@x', from('1.1.1.1'), { isNear: true, sessionId: 'ses_1' })).toBe(maxFailuresOfPair);
    expect(letIn(50, 'a@x', from('2.2.2.2'), { sessionId: 'ses_1' })).toBe(0);
    expect(letIn(1, 'a@x', from('1.1.1.1'), { sessionId: 'ses_2' })).toBe(1);
  });

  it('that are refused have nothing forgotten, however many and whatever the account', () => {
    expect(letIn(50, 'victim@x', from('1.1.1.1'))).toBe(maxFailuresOfPair);
    for (let at = 0; at < 9; at++) letIn(10, `${at}@x`, from('1.1.1.1'));
    let seen = 0;
    for (let at = 0; at < 40_000; at++) seen += letIn(1, `new-${at}@x`, from('1.1.1.1'));
    expect([seen, letIn(1, 'victim@x', from('1.1.1.1')), letIn(1, 'victim@x', from('1.1.1.1'), { isNear: true })]).toEqual([0, 0, 0]);
  });

  it('and accounts that are asked for though there are some have one count', () => {
    for (let at = 0; at < maxFailuresOfAddress - 1; at++) limits.beginSignUp('1.1.1.1');
    limits.beginSignUp('1.1.1.1').succeeded();
    limits.beginSignUp('1.1.1.1');
    expect(() => limits.beginSignUp('1.1.1.1')).toThrow(expect.objectContaining({ code: 'too_many_sign_ins' }));
    expect(letIn(1, 'a@x', from('1.1.1.1'))).toBe(0);
    limits.beginSignUp('2.2.2.2');
  });

  it('many at once are no more than one after the other, and a right one is none', () => {
    for (let at = 0; at < 3 * maxFailuresOfAddress; at++) limits.begin('a@x', '1.1.1.1').succeeded();
    expect(letIn(50, 'a@x', from('1.1.1.1'))).toBe(maxFailuresOfPair);
  });

  it('are forgotten after a quarter of an hour', () => {
    expect(letIn(50, 'a@x', from('1.1.1.1'))).toBe(maxFailuresOfPair);
    nowMs += 900_000;
    expect(letIn(50, 'a@x', from('1.1.1.1'))).toBe(maxFailuresOfPair);
  });
});
