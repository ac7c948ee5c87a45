import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { boundSourcePattern, boundSources, BoundSources, flawOfRights } from './bound-sources.js';
import { mayUse, nobodysSource, visibleSource } from './caller.js';
import { isSourceId } from './names.js';

describe('a key that is bound to press-7 and line-a.*', () => {
  const caller = { orgId: 'o', keyId: 'k', scopes: [], bound: boundSources(['press-7', 'line-a.*']) };

  it.each([
    ['press-7', true],
    ['line-a.1', true],
    ['line-a.', true],
    ['line-a', false],
    ['line-b.1', false],
    ['press-70', false],
    ['Press-7', false],
    ['xline-a.1', false],
  ])('and the source %s: %s', (sourceId, may) => {
    expect(mayUse(caller, sourceId)).toBe(may);
    expect(visibleSource(caller, sourceId)).toBe(may ? sourceId : nobodysSource);
  });
});

it('a key for every source is not bound, and one for none may use none', () => {
  expect([boundSources(['*']), boundSources(['a', '*'])]).toEqual([undefined, undefined]);
  expect(mayUse({ orgId: 'o', keyId: 'k', scopes: [] }, 'a')).toBe(true);
  expect(boundSources([])!.has('a')).toBe(false);
});

it('nobody can have the source that stands for a hidden one', () => {
  expect(isSourceId(nobodysSource)).toBe(false);
});

const id = fc.stringMatching(/^[ab][ab.]{0,3}$/);
const pattern = fc.tuple(id, fc.constantFrom('', '*')).map(([text, end]) => text + end);

it('ranges share no source, come in the order of their sources, and hold what the patterns say', () => {
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 6 }), fc.array(id, { maxLength: 20 }), (patterns, ids) => {
      const bound = new BoundSources(patterns);
      const found = (sourceId: string): number[] =>
        bound.ranges.flatMap(({ text, isPrefix }, at) => ((isPrefix ? sourceId.startsWith(text) : sourceId === text) ? [at] : []));
      for (const one of ids) {
        const named = patterns.some((each) => (each.endsWith('*') ? one.startsWith(each.slice(0, -1)) : one === each));
        expect([bound.has(one), found(one).length]).toEqual([named, Number(named)]);
      }
      const places = ids
        .filter((one) => bound.has(one))
        .toSorted()
        .flatMap(found);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }),
  );
});

it('the same sources have one name', () => {
  expect(new BoundSources(['b', 'a.*', 'a.1', 'b']).name).toBe(new BoundSources(['a.*', 'b']).name);
  expect(new BoundSources(['a']).name).not.toBe(new BoundSources(['a*']).name);
});

it.each([
  ['*', true],
  ['press-7', true],
  ['line-a.*', true],
  [`${'a'.repeat(256)}*`, true],
  ['', false],
  ['.a*', false],
  ['a*b', false],
  ['a**', false],
  ['a/b', false],
  ['a'.repeat(257), false],
])('%s is a pattern: %s', (text, is) => {
  expect(boundSourcePattern.test(text)).toBe(is);
});

it('only a key for every source may manage keys', () => {
  expect([flawOfRights(['admin'], ['*']), flawOfRights(['write'], ['a'])]).toEqual([undefined, undefined]);
  expect(flawOfRights(['write', 'admin'], ['a*'])).toContain('cannot have the scope admin');
});
