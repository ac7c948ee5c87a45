import { describe, expect, it } from '@jest/globals';
import { age, asJson, asText, type DeadLetter } from './dead-letter.js';

const parkedMs = Date.UTC(2026, 10, 1, 12);
const letter: DeadLetter = {
  offset: 3,
  key: 'o/a',
  bytes: Buffer.from('rubbish'),
  value: undefined,
  headers: { topic: 'sources.v1', partition: '4', offset: '17', group: 'g', reason: 'why not', attempts: '2' },
  parkedMs,
};

describe('a dead letter', () => {
  it('that cannot be decoded shows its bytes', () => {
    expect(asText(letter, parkedMs + 90_000)).toBe(
      `offset  3
parked  2026-11-01T12:00:00.000Z, 1 min ago
from    sources.v1, partition 4, offset 17
group   g
reason  why not
tried   2 times
key     o/a
size    7 bytes
hex     72756262697368
`,
    );
    expect(asJson(letter)).toEqual({
      offset: 3,
      parked: '2026-11-01T12:00:00.000Z',
      from: { topic: 'sources.v1', partition: 4, offset: 17 },
      group: 'g',
      reason: 'why not',
      attempts: 2,
      key: 'o/a',
      bytes: 7,
      hex: '72756262697368',
    });
  });

  it('shows its value, columns as arrays and tags by their names', () => {
    const series = [
      { value: Float64Array.of(1, 2.5), tags: '' },
      { value: Float64Array.of(3), tags: '[["__proto__","p"],["a","b"]]' },
    ];
    const value = { orgId: 'o', series };
    const shown = '{"orgId":"o","series":[{"value":[1,2.5],"tags":{}},{"value":[3],"tags":{"__proto__":"p","a":"b"}}]}';
    expect(asText({ ...letter, value }, parkedMs)).toContain(`\nvalue   ${shown}\n`);
    expect(JSON.stringify(asJson({ ...letter, value }))).toContain(`"value":${shown}`);
  });

  it.each([
    ['bytes', { bytes: Buffer.alloc(65) }, `\nhex     ${'00'.repeat(64)}…\n`],
    ['values', { value: 'x'.repeat(3000) }, `\nvalue   "${'x'.repeat(1999)}… (--json shows all)\n`],
    ['a tombstone', { bytes: new Uint8Array() }, '\nsize    0 bytes\nhex     \n'],
    ['no place', { headers: {} }, '\nfrom    ?, partition ?, offset ?\ngroup   ?\nreason  ?\ntried   ?\n'],
    ['what would steer a terminal or add lines', { key: 'o/\u001b[2J\na\u009b' }, '\nkey     o/?[2J a?\n'],
  ] as const)('with %s', (_, what, shown) => {
    expect(asText({ ...letter, ...what }, parkedMs)).toContain(shown);
  });

  it.each([
    [-5, '0 s'],
    [999, '0 s'],
    [59_999, '59 s'],
    [3_600_000, '1 h'],
    [200_000_000, '2 d'],
  ] as const)('of %i ms is %s old', (ms, text) => {
    expect(age(ms)).toBe(text);
  });
});
