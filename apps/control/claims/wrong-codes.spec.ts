import { beforeEach, describe, expect, it } from '@jest/globals';
import { WrongCodes } from './wrong-codes.js';

let nowMs: number;
let codes: WrongCodes;
beforeEach(() => {
  nowMs = 0;
  codes = new WrongCodes(() => nowMs);
});

const all = 100;
/** How many of 100 wrong codes are let through. */
function guesses(by: (at: number) => readonly [accountId: string, address: string]): number {
  for (let at = 0; at < all; at++) {
    try {
      codes.check(...by(at));
    } catch {
      return at;
    }
    codes.add(...by(at));
  }
  return all;
}

describe('wrong codes', () => {
  const minute = 60_000;
  const rows: readonly (readonly [what: string, by: Parameters<typeof guesses>[0], most: number, whileMs: number])[] = [
    ['of one account from anywhere', (at) => ['ada', `192.0.2.${at}`], 5, 15 * minute],
    ['from one address by any accounts', (at) => [`a${at}`, '192.0.2.1'], 10, minute],
    ['from one network of IPv6', (at) => [`a${at}`, `2001:db8::${at + 1}`], 10, minute],
    ['of many accounts from many addresses', (at) => [`a${at}`, `192.0.2.${at}`], all, 0],
  ];
  it.each(rows)('%s: %3$d are let through', (_, by, most, whileMs) => {
    expect(guesses(by)).toBe(most);
    nowMs = whileMs - 1;
    expect(guesses(by)).toBe(most === all ? all : 0);
    nowMs = whileMs;
    expect(guesses(by)).toBe(most);
  });

  it('of somebody else are no hindrance', () => {
    guesses(() => ['ada', '192.0.2.1']);
    expect(() => codes.check('bea', '192.0.2.2')).not.toThrow();
    expect(() => codes.check('ada', '192.0.2.2')).toThrow(expect.objectContaining({ code: 'too_many_wrong_codes' }));
  });

  it('that were right after all are not counted', () => {
    for (let at = 0; at < all; at++) codes.add('ada', '192.0.2.1')();
    expect(guesses(() => ['ada', '192.0.2.1'])).toBe(5);
  });
});
