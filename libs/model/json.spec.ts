import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
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
    ['an escaped letter', String.raw`{"p":1,"a\u0041":2}`, ['p', 'aA']],
    ['an escaped quote', String.raw`{"p":1,"a\"":2}`, ['p', 'a"']],
    ['a tab, with blanks behind it', '{"p":1,"a\\t" \n:2}', ['p', 'a\t']],
    ['an escape in an array of objects', String.raw`[{"p":1,"a\u0041":2}]`, ['p', 'aA']],
  ])('reads a key with %s, whatever keys came before', (_, text, keys) => {
    for (const key of ['', 'a']) for (let times = 0; times < 3; times++) structuredClone(parseJson(bytes(`{"p":1,"${key}\\\\":2}`)));
    expect(Object.keys([parseJson(bytes(text))].flat()[0] as object)).toEqual(keys);
  });

  it('reads objects with keys of all kinds, escaped or not', () => {
    const letter = fc.constantFrom('a', '\\', '"', '\n', '/', '\u00e9', '\u{1f600}', '1');
    const escaped = (text: string): string =>
      text.replaceAll(/[^]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const field = fc.record({
      key: fc.string({ unit: letter, maxLength: 3 }),
      isEscaped: fc.boolean(),
      blank: fc.constantFrom('', ' ', '\r\n\t'),
    });
    fc.assert(
      fc.property(fc.array(fc.uniqueArray(field, { selector: ({ key }) => key, maxLength: 4 }), { maxLength: 4 }), (objects) => {
        const written = objects.map((fields) =>
          fields.map(
            ({ key, isEscaped, blank }) => `${isEscaped ? `"${escaped(key)}"` : JSON.stringify(key)}${blank}:${JSON.stringify(key)}`,
          ),
        );
        const values = parseJson(bytes(`[${written.map((fields) => `{${fields.join()}}`).join()}]`)) as Record<string, string>[];
        const expected = objects.map((fields) => fields.map(({ key }) => [key, key]));
        expect(values.map((value) => new Map(Object.entries(value)))).toEqual(
          expected.map((entries) => new Map(entries as [string, string][])),
        );
      }),
    );
  });

  it.each([
    ['a key that is none', String.raw`{"\n":1,2:3}`, 'invalid_json'],
    ['two values, the first with an escaped key', String.raw`{"\n":1} 2`, 'invalid_json'],
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
