import { expect, it } from '@jest/globals';
import { causes } from './causes.js';
import { TelemetryError } from './errors.js';

const refused = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' });
const wrapped = new Error('connect failed: no answer', { cause: new Error('no answer') });

it.each<[string, unknown, string]>([
  ['an error', new Error('it\n  broke.'), 'it broke'],
  [
    'what an error wraps',
    new TelemetryError('store_unavailable', 'The store does not answer.', { cause: refused }),
    'The store does not answer: ECONNREFUSED',
  ],
  ['a thing once', wrapped, 'connect failed: no answer'],
  ['what is no error', 'gone', 'gone'],
  ['nothing', null, 'null'],
])('tells %s', (_, error, line) => {
  expect(causes(error)).toBe(line);
});

it('ends, however long the chain', () => {
  const error = new Error('x'.repeat(5_000));
  error.cause = error;
  expect(causes(error)).toBe('x'.repeat(1_000));
});
