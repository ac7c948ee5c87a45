import { describe, expect, it } from '@jest/globals';
import { toUnixMs } from '#model';
import { checkSourceId, checkTimestamp, eventText, metricText, utf8Bytes, wireTime } from './point.js';

const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);
const cycle: unknown[] = [];
cycle.push(cycle);
const tags = (count: number): Record<string, string> => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']));
const whole = ({ head, tail }: { head: string; tail: string }): string => `${head}1${tail}`;

describe('what is handed over', () => {
  it.each([
    [metricText('m', 61.2, undefined), '{"metric":"m","timestamp":1,"value":61.2}'],
    [metricText('"ü"', -1e21, {}), '{"metric":"\\"ü\\"","timestamp":1,"value":-1e+21}'],
    [metricText('m', 0, { b: '2', a: '1' }), '{"metric":"m","timestamp":1,"value":0,"tags":{"a":"1","b":"2"}}'],
    [eventText('e', null, undefined), '{"class":"event","metric":"e","timestamp":1,"value":null}'],
    [eventText('e', { a: [1, 'x'] }, { t: 'v' }), '{"class":"event","metric":"e","timestamp":1,"value":{"a":[1,"x"]},"tags":{"t":"v"}}'],
    [eventText('e', 'a\ud800b', { t: '\udfff' }), '{"class":"event","metric":"e","timestamp":1,"value":"a\ufffdb","tags":{"t":"\ufffd"}}'],
    [eventText('e', new Date(0), undefined), '{"class":"event","metric":"e","timestamp":1,"value":"1970-01-01T00:00:00.000Z"}'],
  ])('is JSON of the wire (%#)', (text, expected) => {
    expect(whole(text)).toBe(expected);
  });

  it.each([
    ['a name of 256 bytes', () => metricText('ü'.repeat(128), 1, undefined)],
    ['16 tags', () => metricText('m', 1, tags(16))],
    ['a text of 4,096 bytes', () => eventText('e', '"'.repeat(4096), undefined)],
    ['JSON that is 61 deep', () => eventText('e', deep(61), undefined)],
    ['brackets in a text', () => eventText('e', { a: `\\"${'['.repeat(100)}` }, undefined)],
  ])('may have %s', (_, make) => {
    expect(() => JSON.parse(whole(make())) as unknown).not.toThrow();
  });

  it.each<readonly [string, () => unknown, RegExp]>([
    ['no name', () => metricText('', 1, undefined), /a name of 1 to 256 bytes/],
    ['a name of 257 bytes', () => metricText(`${'ü'.repeat(128)}x`, 1, undefined), /a name of 1 to 256 bytes/],
    ['a name with NUL', () => eventText('a\0', 1, undefined), /NUL/],
    ['half a character', () => eventText('a\ud800', 1, undefined), /lone surrogates/],
    ['a name that is none', () => metricText(7 as never, 1, undefined), /not 7/],
    ['no number', () => metricText('m', Number.NaN, undefined), /metric "m" a finite number, not NaN/],
    ['a text for a number', () => metricText('m', '1' as never, undefined), /not "1"/],
    ['nothing as an event', () => eventText('e', undefined, undefined), /null stands for none/],
    ['a function', () => eventText('e', () => 1, undefined), /JSON can say/],
    ['a big integer', () => eventText('e', 1n, undefined), /JSON can say/],
    ['a circle', () => eventText('e', cycle, undefined), /JSON can say/],
    ['JSON that is 62 deep', () => eventText('e', deep(62), undefined), /at most 61 deep/],
    ['a text of 4,097 bytes', () => eventText('e', 'x'.repeat(4097), undefined), /at most 4096 bytes/],
    ['17 tags', () => metricText('m', 1, tags(17)), /at most 16/],
    ['a list of tags', () => metricText('m', 1, ['a'] as never), /tags as an object/],
    ['a number as a tag', () => metricText('m', 1, { a: 1 } as never), /Give tag "a" a string, not 1/],
    ['a long tag', () => metricText('m', 1, { a: 'x'.repeat(257) }), /at most 256 bytes/],
    ['no time', () => checkTimestamp(Number.NaN), /not NaN/],
    ['a time before 1970', () => checkTimestamp(-1), /not -1/],
    ['a time after 9999', () => checkTimestamp(253_402_300_800_000), /between the years/],
    ['a source id with a blank', () => checkSourceId('a b'), /Give sourceId/],
    ['a source id that begins with a dot', () => checkSourceId('.a'), /begin with a letter or digit/],
  ])('is told at once when it has %s', (_, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ name: 'HeadwaterError', code: 'invalid_argument', message: expect.stringMatching(message) }),
    );
  });

  it.each([1, 999, 86_400_000, 999_999_999_999, 1e12, 1_795_560_160_922, 99_999_999_999_999, 1e14, 253_402_300_799_999])(
    'has the time %d on the server',
    (timestampMs) => {
      expect(toUnixMs(Number(wireTime(checkTimestamp(timestampMs))))).toBe(timestampMs);
    },
  );

  it.each(['', 'abc', 'ü', '€', '𝒳', 'a𝒳ü€z'])('%j has as many bytes as UTF-8 has', (text) => {
    expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
  });
});
