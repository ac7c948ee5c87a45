import { expect, it } from '@jest/globals';
import { loopbackCallback } from './loopback-callback.js';

it.each([
  ['http://127.0.0.1:53682', 'http://127.0.0.1:53682/'],
  ['http://localhost:1/callback', 'http://localhost:1/callback'],
  ['http://127.0.0.1:65535/a/b-c', 'http://127.0.0.1:65535/a/b-c'],
  ['http://[::1]:65535/a/b-c', undefined],
  ['http://127.0.0.1', undefined],
  ['http://127.0.0.1:0', undefined],
  ['http://127.0.0.1:65536', undefined],
  ['http://127.0.0.1:080', undefined],
  ['https://127.0.0.1:443', undefined],
  ['http://127.0.0.2:1', undefined],
  ['http://127.1:1', undefined],
  ['http://0x7f.1:1', undefined],
  ['http://[::ffff:127.0.0.1]:1', undefined],
  ['http://localhost.evil.example:1', undefined],
  ['http://localhost:1@evil.example', undefined],
  ['http://evil@localhost:1', undefined],
  ['http://localhost:1.evil.example', undefined],
  ['http://localhost:1?next=a', undefined],
  ['http://localhost:1/#a', undefined],
  ['http://localhost:1/\\evil.example', undefined],
  ['http://localhost:1/%2e%2e', undefined],
  ['http://localhost:1\n.evil.example', undefined],
  [' http://localhost:1', undefined],
  ['http://localhost:1\n', undefined],
  ['HTTP://localhost:1', undefined],
  ['javascript:alert(1)//http://localhost:1', undefined],
  [`http://localhost:1/${'a'.repeat(512)}`, undefined],
  ['', undefined],
])('%j is %j', (text, expected) => {
  expect(loopbackCallback(text)?.href).toBe(expected);
});
