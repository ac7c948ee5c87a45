import { describe, expect, it } from '@jest/globals';
import { flawOfPassword, isCommonPassword, maxPasswordChars, normalPassword } from './password.js';

const email = 'ada@example.com';

describe('a new password', () => {
  it.each([
    'correct horse battery staple',
    'vkq7-mzpt-31xw',
    'der Kran am Hafen',
    '四つの季節と古い石橋の話です',
    '839204718365',
    'passwords are for people',
    'monkey wrench bridge',
    'kranpassword1',
  ])('%s is fine, whatever characters it has', (password) => {
    expect(flawOfPassword(password, email)).toBeUndefined();
  });

  it.each([
    ['', 'at least 12'],
    ['elevenchars', 'at least 12'],
    ['🔑🔑🔑🔑🔑🔑', 'at least 12'],
    ['x'.repeat(maxPasswordChars + 1), 'at most 256'],
    [`unlikely \ud800 text`, 'lone surrogates'],
    ['Ada@Example.com', 'e-mail address'],
    ['password1234', 'among the first'],
  ])('%j is refused: %s', (password, said) => {
    expect(flawOfPassword(password, email)).toContain(said);
  });

  it('has as many characters as its longest form may have', () => {
    const password = Array.from({ length: maxPasswordChars }, (_, at) => String.fromCodePoint(0x4e00 + at)).join('');
    expect(flawOfPassword(password, email)).toBeUndefined();
  });

  it('is the same in other code points', () => {
    expect(normalPassword('Crème brûlée à midi'.normalize('NFD'))).toBe(normalPassword('Crème brûlée à midi'.normalize('NFC')));
  });
});

it.each([
  'passwordpassword',
  'Password2026!',
  'P@ssw0rd1234',
  'letmeinletmein',
  'iloveyou2023!!',
  'qwertyuiopas',
  'lkjhgfdsapoiuy',
  '123456789012',
  '1qaz2wsx3edc',
  'aaaaaaaaaaaa',
  'abcabcabcabca',
  'welcome123456',
  'adminadmin2020',
  'summer2025!!!',
  'dragonmonkey1',
  'headwater2026',
])('%s is common', (password) => {
  expect(isCommonPassword(password)).toBe(true);
});

it('a text that words fit in many ways takes no time', () => {
  const startMs = performance.now();
  expect(isCommonPassword(`${'password'.repeat(31)}~end`)).toBe(false);
  expect(performance.now() - startMs).toBeLessThan(100);
});
