import { expect, it } from '@jest/globals';
import { sourcesUrl } from './devices-alias.js';

it.each([
  ['/v1/devices', '/v1/sources'],
  ['/v1/devices?status=online', '/v1/sources?status=online'],
  ['/v1/devices/a/logs?name=/v1/devices/b', '/v1/sources/a/logs?name=/v1/devices/b'],
  ['/v1/devices//evil.example', '/v1/sources//evil.example'],
  ['/v1/devices/%2f%2fevil.example/..', '/v1/sources/%2f%2fevil.example/..'],
  ['/v1/%64evices/a', '/v1/sources/a'],
  ['/%76%31/devices', '/v1/sources'],
  ['http://evil.example/v1/devices/a?b=c', '/v1/sources/a?b=c'],
  ['HTTPS://evil.example:1/v1/devices', '/v1/sources'],
])('%s goes on to %s', (from, to) => {
  expect(sourcesUrl(from)).toBe(to);
});
