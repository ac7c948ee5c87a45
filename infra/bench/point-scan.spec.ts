import { describe, expect, it } from '@jest/globals';
import { countPoints } from './point-scan.js';
import { bodyOf, shapes } from './shapes.js';

const counted = (body: string): number => countPoints(Buffer.from(body));

const parses = (body: string): boolean => {
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
};

describe('the points of a body', () => {
  it.each(shapes)('$name has as many as its bodies say', (shape) => {
    expect(counted(bodyOf(shape, 1, 1.7e12))).toBe(shape.pointsPerBody);
  });

  it.each([
    ['{"source_id":"a","points":[{"metric":"b","value":1},{"metric":"b","value":2}]}', 2],
    [' { "points" : [ { "value" : -1.5e+3 } , { } ] , "source_id" : "a" } ', 2],
    ['{"points":[{"tags":{"a":"b"},"value":0}],"note":{"a":{"b":[null,true,false]}}}', 1],
    ['{"points":[{"value":"\\"},{\\\\"}]}', 1],
    ['{"points":[]}', 0],
  ])('%j: %j', (body, points) => {
    expect([counted(body), parses(body)]).toEqual([points, true]);
  });

  it.each([
    ['', 0],
    ['{"points":[{"value":1}}', 22],
    ['{"points":[{"value":1},]}', 23],
    ['{"points":[{"value" 1}]}', 20],
    ['{"points":[{"value":01}]}', 21],
    ['{"points":[{"value":1.}]}', 22],
    ['{"points":[{"value":1e}]}', 22],
    ['{"points":[{"value":nul}]}', 20],
    ['{"points":[{"value":"\n"}]}', 21],
    ['{"points":[{"value":"a', 22],
    ['{"points":[]} x', 14],
  ])('%j is not JSON at byte %i', (body, at) => {
    expect(() => counted(body)).toThrow(`the body is not JSON at byte ${at}`);
    expect(parses(body)).toBe(false);
  });
});
