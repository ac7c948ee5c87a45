import { describe, expect, it } from '@jest/globals';
import type { Ask } from '../http/send.js';
import { itWith, problem, type Section, type Stage } from './stage.js';

const json = { 'content-type': 'application/json' };
const good = '{"source_id":"a","points":[]}';
const tooMany = JSON.stringify({ source_id: 'a', points: Array.from({ length: 10_001 }, () => ({ metric: '', value: 'bad' })) });
const post = (headers: Record<string, string>, body: string | Uint8Array): Ask => ({ method: 'POST', path: '/ingest', headers, body });

export const errors: Section = (stage) => {
  describe('decisions §2: one shape for every error', () => {
    const rows: readonly (readonly [what: string, ask: Ask, status: number, code: string])[] = [
      ['not JSON', post(json, '{"source_id":'), 400, 'invalid_json'],
      ['a bad point', post(json, '{"source_id":"a","points":[{}]}'), 400, 'invalid_points'],
      ['a bad window', { path: '/v1/sources/a/metrics/query?last=5w' }, 400, 'invalid_window'],
      ['a bad interval', { path: '/v1/sources/a/metrics/query?interval=5m' }, 400, 'invalid_interval'],
      ['a limit out of range', { path: '/v1/sources/a/logs?limit=0' }, 400, 'invalid_limit'],
      ['an unknown status filter', { path: '/v1/sources?status=away' }, 400, 'invalid_parameter'],
      ['a bad source id', { path: '/v1/sources/-a' }, 400, 'invalid_source_id'],
      ['a missing metric', { path: '/v1/fleet/metrics' }, 400, 'invalid_metric'],
      ['no key', { path: '/v1/sources', headers: { 'x-api-key': '' } }, 401, 'invalid_key'],
      ['an unknown route', { path: '/v1/nothing' }, 404, 'unknown_route'],
      ['an unknown route elsewhere', { path: '/favicon' }, 404, 'unknown_route'],
      ['the device channel without an upgrade', { path: '/ws/device' }, 426, 'upgrade_required'],
      ['a live stream without a key', { path: '/v1/sources/a/metrics/stream', headers: { 'x-api-key': '' } }, 401, 'invalid_key'],
      ['an unknown source', { path: '/v1/sources/nobody' }, 404, 'unknown_source'],
      ['a wrong method', { method: 'DELETE', path: '/v1/sources' }, 405, 'method_not_allowed'],
      ['a wrong content type', post({ 'content-type': 'text/plain' }, good), 415, 'unsupported_content_type'],
      ['a wrong content encoding', post({ ...json, 'content-encoding': 'br' }, good), 415, 'unsupported_content_encoding'],
      ['too many points', post(json, tooMany), 413, 'too_many_points'],
      ['a source id of 400 characters', { path: `/v1/sources/${'a'.repeat(400)}` }, 400, 'invalid_source_id'],
      ['a URL of 20 KB', { path: `/v1/sources/a/metrics/query?metrics=${'m'.repeat(20_000)}` }, 414, 'uri_too_long'],
      ['a header of 17 KB', { path: '/v1/sources', headers: { 'x-long': 'x'.repeat(17 * 1024) } }, 431, 'headers_too_large'],
    ];

    it.each(rows)('%s', async (_, ask, status, code) => {
      problem(await (ask.method === 'POST' ? stage().own.askIngest(ask) : stage().own.ask(ask)), status, code);
    });

    it('each answer has a request id of its own, good answers too', async () => {
      const ids = [];
      for (const path of ['/v1/sources', '/v1/nothing', '/health']) ids.push((await stage().own.ask({ path })).headers['x-request-id']);
      expect(new Set(ids).size).toBe(3);
    });

    it('bad points are named by JSON pointers, the first 20 of them', async () => {
      const points = Array.from({ length: 30 }, (_, at) => (at % 2 === 0 ? { metric: 'm', value: 'x' } : { metric: '', value: at }));
      const answer = await stage().own.ingest({ source_id: 'a', points });
      const { errors: flaws = [] } = problem(answer, 400, 'invalid_points');
      expect(flaws.map(({ pointer }) => pointer)).toEqual(
        Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? `/points/${at}/value` : `/points/${at}/metric`)),
      );
      for (const flaw of flaws)
        expect(flaw).toMatchObject({ code: expect.stringMatching(/^[a-z_]+$/), detail: expect.stringMatching(/\S/) });
    });
  });

  describe('a wrong method is 405 with Allow', () => {
    it.each([
      ['GET', '/ingest', 'POST'],
      ['PUT', '/ingest', 'POST'],
      ['POST', '/v1/sources', 'GET'],
      ['POST', '/v1/sources/a', 'GET'],
      ['DELETE', '/v1/sources/a/metrics', 'GET'],
      ['PATCH', '/v1/sources/a/metrics/latest', 'GET'],
      ['POST', '/v1/sources/a/metrics/query', 'GET'],
      ['PUT', '/v1/sources/a/logs', 'GET'],
      ['POST', '/v1/fleet/health', 'GET'],
      ['POST', '/v1/fleet/metrics', 'GET'],
      ['PUT', '/api/api-keys', 'POST'],
    ])('%s %s', async (method, path, allowed) => {
      const ask =
        path === '/ingest'
          ? stage().own.askIngest({ method, path })
          : path.startsWith('/api')
            ? stage().own.askApp({ method, path })
            : stage().own.ask({ method, path });
      const answer = await ask;
      problem(answer, 405, 'method_not_allowed');
      expect(answer.headers['allow']?.split(', ')).toContain(allowed);
    });
  });

  describe('checks come in this order: 401, 402, 403, 415, 413, 400', () => {
    const unpaid = itWith('UNPAID_API_KEY');
    const text = { 'content-type': 'text/plain' };
    const keyOf = {
      none: () => '',
      unpaid: (at: Stage) => at.unpaid.key,
      read: async (at: Stage) => (await at.newKey(['read'])).api_key,
      full: (at: Stage) => at.own.key,
    };
    const status = async (key: keyof typeof keyOf, headers: Record<string, string>, body: string): Promise<number> =>
      (
        await stage()
          .client(await keyOf[key](stage()))
          .askIngest(post(headers, body))
      ).status;

    it('401 before everything', async () => expect(await status('none', text, tooMany)).toBe(401));
    unpaid('402 before 415 (needs UNPAID_API_KEY)', async () => expect(await status('unpaid', text, tooMany)).toBe(402));
    unpaid('402 before 403 (needs UNPAID_API_KEY)', async () => {
      const { api_key: key } = await stage().newKey(['read'], stage().unpaid);
      problem(await stage().client(key).askIngest(post(text, tooMany)), 402);
    });
    it('403 before 415', async () => expect(await status('read', text, tooMany)).toBe(403));
    it('415 before 413', async () => expect(await status('full', text, 'x'.repeat(5 * 1024 * 1024 + 1))).toBe(415));
    it('413 before 400: too large and not JSON', async () => expect(await status('full', json, 'x'.repeat(5 * 1024 * 1024 + 1))).toBe(413));
    it('413 before 400: too many points, all bad', async () => expect(await status('full', json, tooMany)).toBe(413));

    it.each([
      ['308', { path: '/v1/devices/a' }, 308],
      ['/health', { path: '/health' }, 200],
      ['OPTIONS', { method: 'OPTIONS', path: '/ingest' }, 204],
    ] as const)('%s needs no key', async (_, ask, expected) => {
      expect((await stage().bare(ask, ask.path === '/ingest' ? stage().urls.ingest : stage().urls.api)).status).toBe(expected);
    });
  });
};
