import { expect, it } from '@jest/globals';
import { mergePatch } from './merge-patch.js';

// The cases of RFC 7396, appendix A, that objects can meet.
it.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: 1 }, JSON.parse('{"__proto__": {"b": 1}}'), JSON.parse('{"a": 1, "__proto__": {"b": 1}}')],
])('%j with %j is %j', (target, patch, expected) => {
  expect(JSON.stringify(mergePatch(target, patch))).toBe(JSON.stringify(expected));
});
