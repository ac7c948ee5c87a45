import { describe, expect, it } from '@jest/globals';
import { parseWindow } from './parse-window.js';

const now = Date.parse('2026-03-01T00:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

describe('parseWindow', () => {
  it.each([
    ['nothing', {}, hour],
    ['last=1m', { last: '1m' }, minute],
    ['last=90m', { last: '90m' }, 90 * minute],
    ['last=24h', { last: '24h' }, day],
    ['last=007d', { last: '007d' }, 7 * day],
    ['last=100000d', { last: '100000d' }, 100_000 * day],
    ['last with many zeros', { last: `${'0'.repeat(400)}1h` }, hour],
    ['last beside start and end', { last: '1h', start: 'x', end: 'y' }, hour],
    ['last beside start', { last: '1h', start: '2026-01-01' }, hour],
  ])('%s ends now, this millisecond included', (_, parameters, sizeMs) => {
    expect(parseWindow(parameters, now)).toEqual({ startMs: now + 1 - sizeMs, endMs: now + 1 });
  });

  it('takes start and end as they are', () => {
    expect(parseWindow({ start: '2026-01-01', end: '2026-01-01T01:00:00+00:30' }, now)).toEqual({
      startMs: Date.UTC(2026, 0, 1),
      endMs: Date.UTC(2026, 0, 1) + hour / 2,
    });
  });

  it.each([
    ['2026-01-01 12:00:00', '2026-01-01T12:00:00Z'],
    ['2026-01-01+12:00:00', '2026-01-01T12:00:00Z'],
    ['2026-01-01+12:00:00+02:00', '2026-01-01T10:00:00Z'],
    ['2026-01-01T12:00:00 02:00', '2026-01-01T10:00:00Z'],
    ['2026-01-01 12:00 0200', '2026-01-01T10:00:00Z'],
    ['20260101T12 02', '2026-01-01T10:00:00Z'],
    ['2026-W01-4 12', '2026-01-01T12:00:00Z'],
  ])('reads %j, as it may come out of a URL', (start, utc) => {
    expect(parseWindow({ start, end: '2026-01-02' }, now).startMs).toBe(Date.parse(utc));
  });

  it.each([
    { last: '' },
    { last: '0m' },
    { last: '0h' },
    { last: '000d' },
    { last: '-1h' },
    { last: '+1h' },
    { last: '1.5h' },
    { last: '5w' },
    { last: '5s' },
    { last: '5M' },
    { last: '5' },
    { last: 'h' },
    { last: '1h ' },
    { last: '1h\n' },
    { last: '٣h' },
    { last: '740000d' },
    { last: `${'0'.repeat(400)}h` },
    { last: `${'9'.repeat(400)}m` },
    { start: '2026-01-01' },
    { end: '2026-01-01' },
    { start: '', end: '2026-01-01' },
    { start: '2026-01-01', end: 'later' },
    { start: '2026-01-01', end: '2026-01-01' },
    { start: '2026-01-02', end: '2026-01-01' },
  ])('refuses %j', (parameters) => {
    expect(() => parseWindow(parameters, now)).toThrow(expect.objectContaining({ code: 'invalid_window' }));
  });
});
