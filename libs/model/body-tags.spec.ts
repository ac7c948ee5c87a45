import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { BodyTags } from './body-tags.js';
import { Flaws } from './flaws.js';
import { JsonCursor, unusual } from './json-cursor.js';
import { parseJson } from './json.js';
import { NameTable } from './name-table.js';
import { noTags, type Tags } from './point.js';
import { readTags } from './tags.js';

/** What the tags of a point are by definition; undefined where they are wrong. */
function simple(text: string): Tags | undefined {
  try {
    const flaws = new Flaws();
    const value = parseJson(Buffer.from(text));
    const tags = readTags(value, 0, flaws);
    return flaws.any || value === null || typeof value !== 'object' || Array.isArray(value) ? undefined : tags;
  } catch {
    return undefined;
  }
}

/** What is read of these texts, which stand behind each other in one body. */
function read(texts: readonly string[]): (Tags | undefined)[] {
  const bytes = Buffer.from(texts.join(','));
  const json = new JsonCursor(bytes, new NameTable());
  const tags = new BodyTags();
  let start = 0;
  return texts.map((text) => {
    json.at = start;
    start += Buffer.byteLength(text) + 1;
    try {
      const its = tags.at(tags.read(json));
      return json.at === start - 1 ? its : undefined;
    } catch (error) {
      if (error !== unusual) throw error;
      return undefined;
    }
  });
}

const letters = fc.constantFrom('a', 'b', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}', ' ', ':', ',', '[', '{', '}');
const plain = fc.oneof(
  fc.string({ unit: letters, maxLength: 4 }),
  fc.constantFrom('__proto__', '10', '9', 'x'.repeat(256), 'é'.repeat(128)),
);
const quoted = plain.map((text) => `"${text}"`);
const escaped = fc.constantFrom('"\\""', '"\\\\"', '"\\u0041"', '"\\ud800"', '"\\ud83d\\ude00"', '"a\\/b"');
const wrong = fc.constantFrom('1', 'null', '{}', '"', '', `"${'x'.repeat(257)}"`, `"${'é'.repeat(129)}"`, '"\t"', '"\\x"', '[');
const blank = fc.constantFrom('', '', '', ' ', '\n\t\r ');
const piece = fc.oneof({ weight: 30, arbitrary: quoted }, { weight: 2, arbitrary: escaped }, { weight: 1, arbitrary: wrong });
const pair = fc
  .tuple(blank, piece, blank, blank, piece, blank)
  .map(([a, name, b, c, value, d]) => ({ name, json: `${a}${name}${b}:${c}${value}${d}` }));
/** Each name once: of two values of one name V8 now and then gives the first, where it has parsed an object with the same names before. */
const namedOnce = (pairs: readonly { readonly name: string; readonly json: string }[]): string[] => [
  ...new Map(pairs.map(({ name, json }) => [name, json])).values(),
];
const text = fc
  .oneof(
    { weight: 9, arbitrary: fc.array(pair, { maxLength: 5 }) },
    { weight: 1, arbitrary: fc.array(pair, { minLength: 14, maxLength: 18 }) },
  )
  .map((pairs) => `{${namedOnce(pairs).join()}}`);

describe('The tags in the bytes of a body', () => {
  it('are those that their parsed text has, or are left to the parser', () => {
    let [right, found] = [0, 0];
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        for (const [at, tags] of read(texts).entries()) {
          const expected = simple(texts[at]!);
          if (expected !== undefined) right++;
          if (tags === undefined) continue;
          found++;
          expect(tags).toBe(expected);
        }
      }),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 1000) },
    );
    expect(right).toBeGreaterThan(500);
    expect(found).toBeGreaterThan(0.95 * right);
  });

  it('have one number for each set, in whatever order and with whatever blanks it is written', () => {
    const bytes = Buffer.from('{"a":"1","b":"2"} { "b" : "2", "a" : "1" } {} {"\\u0061":"1","b":"2"} {"a":"0","a":"1","b":"2"}');
    const json = new JsonCursor(bytes, new NameTable());
    const tags = new BodyTags();
    expect(Array.from({ length: 5 }, () => tags.read(json))).toEqual([1, 1, 0, 1, 1]);
    expect([tags.at(0), tags.at(1), tags.size]).toEqual([noTags, '[["a","1"],["b","2"]]', 2]);
  });
});
