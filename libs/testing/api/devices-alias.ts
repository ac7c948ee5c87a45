import { describe, expect, it } from '@jest/globals';
import { problem, type Section } from './stage.js';

export const devicesAlias: Section = (stage) => {
  describe('§7, §9 and decisions §4: /v1/devices… answers 308 to /v1/sources…, the query kept, before any key check', () => {
    it.each([
      ['/v1/devices', '/v1/sources'],
      ['/v1/devices?status=online', '/v1/sources?status=online'],
      ['/v1/devices/a', '/v1/sources/a'],
      ['/v1/devices/a/metrics', '/v1/sources/a/metrics'],
      ['/v1/devices/a/metrics/latest', '/v1/sources/a/metrics/latest'],
      ['/v1/devices/a/metrics/query?metrics=b%2Cc,d&last=5m', '/v1/sources/a/metrics/query?metrics=b%2Cc,d&last=5m'],
      ['/v1/devices/a/logs?tail=5&name=%F0%9F%98%80', '/v1/sources/a/logs?tail=5&name=%F0%9F%98%80'],
      ['/v1/devices/a%2Bb', '/v1/sources/a%2Bb'],
    ])('%s → %s', async (path, location) => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await stage().bare({ method, path });
        expect([answer.status, answer.headers['location']]).toEqual([308, location]);
      }
    });

    it('OPTIONS is answered and not redirected', async () => {
      for (const path of ['/v1/devices', '/v1/devices/a/metrics']) {
        const { status, headers } = await stage().bare({ method: 'OPTIONS', path, headers: { origin: 'https://x.example' } });
        expect([status, headers['location'], headers['access-control-allow-origin']]).toEqual([204, undefined, '*']);
      }
    });

    it.each(['/v1/devices/a/metrics/stream', '/v1/devices/a%2Bb/logs/stream?metrics=a'])(
      '%s, a live stream, has no alias',
      async (path) => {
        for (const method of ['GET', 'POST', 'OPTIONS']) problem(await stage().bare({ method, path }), 404, 'unknown_route');
      },
    );

    it('a body is not looked at', async () => {
      const headers = { 'content-type': 'text/plain' };
      const answer = await stage().bare({ method: 'POST', path: '/v1/devices/a/commands', headers, body: '{' });
      expect([answer.status, answer.headers['location']]).toEqual([308, '/v1/sources/a/commands']);
    });

    it.each([
      ['/v1/devices//evil.example', {}],
      ['/v1/devices//evil.example/%2f..', {}],
      ['/v1/devices/%2f%2fevil.example', {}],
      ['/v1/devices/..%2f..%2f..%2fevil', {}],
      ['/v1/devices/\\evil.example', {}],
      ['/v1/devices/a', { host: 'evil.example' }],
      ['/v1/devices/a', { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }],
      ['/v1/devices?next=//evil.example', {}],
    ])('%s with %j leads to this server only', async (path, headers) => {
      const { status, headers: answered } = await stage().bare({ path, headers });
      expect([308, 400]).toContain(status);
      expect(answered['location'] ?? '/v1/sources').toMatch(/^\/v1\/sources([/?]|$)/);
      expect([undefined, path.replace('/v1/devices', '/v1/sources')]).toContain(answered['location']);
    });

    it.each(['//evil.example/v1/devices', '/v1/devicesx', '/v1/device', '/v2/devices', '/devices'])('%s is no such route', async (path) => {
      const answer = await stage().own.ask({ path });
      expect(answer.headers['location']).toBeUndefined();
      problem(answer, 404, 'unknown_route');
    });
  });
};
