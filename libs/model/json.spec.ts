import { describe, expect, it } from '@jest/globals';
import { parseJson } from './json.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJson', () => {
  it.each([
    ['a byte order mark', '\ufeff{"a":1}', { a: 1 }],
    ['the last of equal keys', '{"a":1,"a":2}', { a: 2 }],
    ['brackets in strings', JSON.stringify('[{'.repeat(100)), '[{'.repeat(100)],
    ['escaped quotes', String.raw`"\"[\\"`, '"[\\'],
    ['64 levels side by side', `[${nested(63)},${nested(63)}]`, JSON.parse(`[${nested(63)},${nested(63)}]`)],
  ])('reads %s', (_, text, value) => {
    expect(parseJson(bytes(text))).toEqual(value);
  });

  it('keeps __proto__ as an own key', () => {
    const value = parseJson(bytes('{"__proto__":{"points":[]}}')) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(value['points']).toBeUndefined();
  });

  it.each([
    ['nothing', '', 'invalid_json'],
    ['two values', '{} {}', 'invalid_json'],
    ['a string without an end', '"a\\', 'invalid_json'],
    ['NaN', '[NaN]', 'invalid_json'],
    ['a trailing comma', '[1,]', 'invalid_json'],
    ['65 levels', nested(65), 'json_too_deep'],
    ['65 levels of objects', '{"a":'.repeat(64) + '{}' + '}'.repeat(64), 'json_too_deep'],
    ['five million levels without an end', '['.repeat(5_000_000), 'json_too_deep'],
  ])('refuses %s', (_, text, code) => {
    expect(() => parseJson(bytes(text))).toThrow(expect.objectContaining({ code }));
  });

  it.each([
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['half a character', [0xe2, 0x82]],
    ['a lone continuation', [0x80]],
  ])('refuses UTF-8 with %s', (_, bad) => {
    expect(() => parseJson(Uint8Array.from([0x22, ...bad, 0x22]))).toThrow(expect.objectContaining({ code: 'invalid_json' }));
  });
});
