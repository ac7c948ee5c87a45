import { expect, it } from '@jest/globals';
import { formatUserCode, normalUserCode, userCodeRandomBytes } from './claim.js';
import { networkOf } from './network.js';

it('a user code is eight of twenty letters, each as likely as any other', () => {
  const codes = Array.from({ length: 12 }, (_, step) => formatUserCode(Uint8Array.from({ length: 20 }, (__, at) => 20 * step + at)));
  expect(codes[0]).toBe('BCDF-GHJK');
  expect(new Set(codes).size).toBe(1);
  expect(formatUserCode(Uint8Array.from({ length: userCodeRandomBytes }, (_, at) => (at % 2 === 0 ? 240 + (at % 16) : at)))).toMatch(
    /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/,
  );
  expect(() => formatUserCode(new Uint8Array(userCodeRandomBytes).fill(255))).toThrow(RangeError);
});

it.each([
  ['BCDF-GHJK', 'BCDF-GHJK'],
  [' bcdf ghjk\n', 'BCDF-GHJK'],
  ['bcdfghjk', 'BCDF-GHJK'],
  ['BCDF-GHJ', undefined],
  ['BCDF-GHJKL', undefined],
  ['BCDF-GHJA', undefined],
  ['', undefined],
])('what is typed as %j is the code %j', (text, code) => {
  expect(normalUserCode(text)).toBe(code);
});

it.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '::ffff:10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['::1', ':0:0:0'],
])('the address %s is of the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
