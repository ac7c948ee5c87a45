import { describe, expect, it } from '@jest/globals';
import { JsonCursor, maxValueBytes, unusual } from './json-cursor.js';
import { NameTable } from './name-table.js';

const names = new NameTable();
const cursorOn = (text: string): JsonCursor => new JsonCursor(Buffer.from(text), names);

/** How each kind of value is passed, and one of so many bytes. */
const ways = [
  ['a string', (json) => json.skipString(), (bytes) => `"${'a'.repeat(bytes - 2)}"`],
  ['an object', (json) => json.skipNested(3), (bytes) => `{"a":"${'b'.repeat(bytes - 8)}"}`],
  ['an array that is checked', (json) => json.pass(3), (bytes) => `[1${' '.repeat(bytes - 3)}]`],
] as const satisfies readonly (readonly [string, (json: JsonCursor) => void, (bytes: number) => string])[];

describe.each(ways)('%s', (_, pass, valueOf) => {
  it.each([20, maxValueBytes])('of %i bytes is passed', (bytes) => {
    const json = cursorOn(`${valueOf(bytes)},`);
    pass(json);
    expect(json.at).toBe(bytes);
  });

  it('that is longer is left to the slow parser, before all of it is looked at', () => {
    const json = cursorOn(`${valueOf(maxValueBytes + 1)},`);
    expect(() => pass(json)).toThrow(unusual);
  });

  it('without an end is unusual', () => {
    expect(() => pass(cursorOn(valueOf(20).slice(0, -1)))).toThrow(unusual);
  });
});

describe('values that are checked', () => {
  it('may be many: the bound is one of each', () => {
    const item = `[${' '.repeat(maxValueBytes / 2)}]`;
    const json = cursorOn(`${Array.from({ length: 64 }, () => item).join()}]`);
    do json.pass(3);
    while (json.goesOn(0x5d));
    expect(json.at).toBe(json.bytes.length);
  });

  it('are no deeper in the body than JSON may be', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    cursorOn(nested(61)).pass(3);
    expect(() => cursorOn(nested(62)).pass(3)).toThrow(unusual);
  });
});

function numberIn(text: string): number {
  const json = cursorOn(text);
  json.readNumber();
  return json.number;
}

describe('a number', () => {
  const digits = '1234567890123456789';
  const lengths = Array.from({ length: digits.length }, (_, at) => at + 1);

  it.each(lengths)('of %i digits is what JSON.parse makes of it, wherever its point stands', (length) => {
    const whole = digits.slice(0, length);
    const parts = Array.from({ length: length - 1 }, (_, at) => `${whole.slice(0, at + 1)}.${whole.slice(at + 1)}`);
    const texts = [whole, '9'.repeat(length), `0.${whole}`, ...parts].flatMap((text) => [text, `-${text}`]);
    expect(texts.map(numberIn)).toEqual(texts.map((text) => JSON.parse(text)));
  });
});
