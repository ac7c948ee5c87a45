import { describe, expect, it } from '@jest/globals';
import { asked, fixed, type Window } from './window.js';

const now = Date.UTC(2026, 0, 31, 12);
const at = (time: string): string => `2026-01-${time}Z`;

describe('a window', () => {
  it.each<[Window, object, object]>([
    [{}, {}, { start: at('31T11:00:00.001'), end: at('31T12:00:00.001') }],
    [{ last: '24h' }, { last: '24h' }, { start: at('30T12:00:00.001'), end: at('31T12:00:00.001') }],
    [{ last: 'long' }, { last: 'long' }, { last: 'long' }],
    ...(
      [
        [{ start: '24h' }, { start: at('30T12:00:00.001'), end: at('31T12:00:00.001') }],
        [
          { start: '2d', end: '1d' },
          { start: at('29T12:00:00.001'), end: at('30T12:00:00.001') },
        ],
        [
          { start: new Date(now), end: now + 1000 },
          { start: at('31T12:00:00.000'), end: at('31T12:00:01.000') },
        ],
        [
          { start: '2026-01', end: '20260203T10+01' },
          { start: '2026-01', end: '20260203T10+01' },
        ],
        [{ end: now }, { end: at('31T12:00:00.000') }],
      ] as [Window, object][]
    ).map(([window, both]): [Window, object, object] => [window, both, both]),
  ])('%j is asked for as %j, and page by page as %j', (window, once, always) => {
    expect(asked(window, now)).toEqual(once);
    expect(fixed(window, now)).toEqual(always);
  });

  it.each([NaN, new Date('never'), 9e15])('%s is no time', (start) => {
    expect(() => asked({ start })).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });
});
