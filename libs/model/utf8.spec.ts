import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fitsUtf8 } from './names.js';
import { compareUtf8 } from './utf8.js';

const anyText = fc.string({ unit: 'binary' }).chain((text) => fc.constantFrom(text, `${text}\ud800`, `\udc00${text}`));

describe('UTF-8 without encoding', () => {
  it('counts the bytes that an encoder writes', () => {
    const fits = (text: string): boolean[] => [0, -1].map((less) => fitsUtf8(text, Buffer.from(text).length + less));
    fc.assert(fc.property(anyText, (text) => expect(fits(text)).toEqual([true, false])));
  });

  it('orders as the bytes order', () => {
    const unit = fc.constantFrom('a', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}');
    const text = fc.string({ unit, maxLength: 4 });
    fc.assert(fc.property(text, text, (a, b) => expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))));
  });

  it.each([
    ['a', 1, true],
    ['a', 0, false],
    ['é', 1, false],
    ['é', 2, true],
    ['€€', 6, true],
    ['€€', 5, false],
    ['😀', 4, true],
    ['😀', 3, false],
    ['\ud800', 3, true],
  ])('%j fits %i bytes: %j', (text, limit, fits) => {
    expect(fitsUtf8(text, limit)).toBe(fits);
  });
});
