import { expect, it } from '@jest/globals';
import { TelemetryError } from '#model';
import { refusedFrame } from './replies.js';

const told = '/points/0/value: Send a finite JSON number.';

it.each<[string, TelemetryError, string]>([
  [
    'flaws of points: the first, once',
    new TelemetryError('invalid_points', told, {
      flaws: [
        { pointer: '/points/0/value', code: 'invalid_value', detail: 'Send a finite JSON number.' },
        { pointer: '/points/1/value', code: 'invalid_value', detail: 'Send a finite JSON number.' },
      ],
    }),
    told,
  ],
  ['no flaws', new TelemetryError('invalid_body', 'Send an object.'), 'Send an object.'],
])('a refused frame tells of %s', (_, error, detail) => {
  expect(JSON.parse(refusedFrame(error, 3)!)).toEqual({ type: 'error', code: 'INVALID_MESSAGE', detail, seq: 3 });
});
