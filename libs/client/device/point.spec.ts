import { describe, expect, it } from '@jest/globals';
import { toUnixMs } from '#model';
import { checkTimestamp, eventText, metricText, timeOf, wireTime } from './point.js';

const cycle: unknown[] = [];
cycle.push(cycle);
const whole = ({ head, tail }: { head: string; tail: string }): string => `${head}1${tail}`;

describe('what is handed over', () => {
  it.each([
    [metricText('m', 61.2, undefined), '{"metric":"m","timestamp":1,"value":61.2}'],
    [metricText('"ü"', -1e21, {}), '{"metric":"\\"ü\\"","timestamp":1,"value":-1e+21}'],
    [metricText('m', 0, { b: '2', a: '1' }), '{"metric":"m","timestamp":1,"value":0,"tags":{"a":"1","b":"2"}}'],
    [eventText('e', null, undefined), '{"class":"event","metric":"e","timestamp":1,"value":null}'],
    [eventText('e', { a: [1, 'x'] }, { t: 'v' }), '{"class":"event","metric":"e","timestamp":1,"value":{"a":[1,"x"]},"tags":{"t":"v"}}'],
    [
      eventText('\ud800', '\ud800\n', { t: '\n' }),
      '{"class":"event","metric":"\\ud800","timestamp":1,"value":"\\ud800\\n","tags":{"t":"\\n"}}',
    ],
    [eventText('e', new Date(0), undefined), '{"class":"event","metric":"e","timestamp":1,"value":"1970-01-01T00:00:00.000Z"}'],
  ])('is JSON of the wire (%#)', (text, expected) => {
    expect(whole(text)).toBe(expected);
  });

  it.each<readonly [string, () => unknown, RegExp]>([
    ['no name', () => metricText(undefined as never, 1, undefined), /JSON can say/],
    ['no number', () => metricText('m', Number.NaN, undefined), /metric m a finite number/],
    ['a text for a number', () => metricText('m', '1' as never, undefined), /anything else is an event/],
    ['nothing as an event', () => eventText('e', undefined, undefined), /null stands for nothing/],
    ['a function', () => eventText('e', () => 1, undefined), /JSON can say/],
    ['a big integer', () => eventText('e', 1n, undefined), /JSON can say/],
    ['a circle', () => eventText('e', cycle, undefined), /JSON can say/],
    ['a text that fills the memory', () => eventText('e', 'x'.repeat(65_536), undefined), /in 65536 characters/],
    ['a tag that fills the memory', () => metricText('m', 1, { a: 'x'.repeat(65_536) }), /in 65536 characters/],
    ['no time', () => checkTimestamp(Number.NaN), /not NaN/],
    ['a time before 1970', () => checkTimestamp(-1), /not -1/],
    ['a time in microseconds', () => checkTimestamp(1_795_560_160_922_000), /Unix milliseconds/],
  ])('is told at once when it has %s', (_, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ name: 'HeadwaterError', code: 'invalid_argument', message: expect.stringMatching(message) }),
    );
  });

  it.each([1, 999, 86_400_000, 999_999_999_999, 1e12, 1_795_560_160_922, 99_999_999_999_999])(
    'has the time %d on the server, and where it is refused',
    (timestampMs) => {
      const wire = wireTime(checkTimestamp(timestampMs));
      expect([toUnixMs(wire), timeOf(wire)]).toEqual([timestampMs, timestampMs]);
    },
  );
});
