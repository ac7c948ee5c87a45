import { describe, expect, it } from '@jest/globals';
import type { Section } from './stage.js';

const json = /^application\/json/;

export const health: Section = (stage) => {
  describe('decisions §4: health without a key, on every HTTP app', () => {
    it.each(
      (['api', 'ingest', 'app'] as const).flatMap((app) =>
        ['/health', '/health/live', '/health/ready'].map((path) => [app, path] as const),
      ),
    )('%s %s', async (app, path) => {
      const answer = await stage().bare({ path }, stage().urls[app]);
      expect(answer.status).toBe(200);
      // A probe that sends a bad key is a probe all the same.
      expect((await stage().bare({ path, headers: { 'x-api-key': 'nonsense' } }, stage().urls[app])).status).toBe(200);
      const odd = { path, headers: { 'content-type': 'text/plain', 'content-encoding': 'br' }, body: '{' };
      expect((await stage().bare(odd, stage().urls[app])).status).toBe(200);
    });

    it('/metrics is not on a public port', async () => {
      for (const base of Object.values(stage().urls)) expect((await stage().bare({ path: '/metrics' }, base)).status).toBe(404);
    });
  });

  describe('/openapi.json describes the service; every answer of this suite is held against it', () => {
    it('is OpenAPI 3.1 and needs no key', async () => {
      const answer = await stage().bare({ path: '/openapi.json' });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, expect.stringMatching(json)]);
      expect(stage().document.openapi).toMatch(/^3\.1\./);
    });

    it.each([
      ['post', '/ingest'],
      ['get', '/v1/fleet/health'],
      ['get', '/v1/fleet/metrics'],
      ['get', '/v1/sources'],
      ['get', '/v1/sources/{source_id}'],
      ['get', '/v1/sources/{source_id}/metrics'],
      ['get', '/v1/sources/{source_id}/metrics/latest'],
      ['get', '/v1/sources/{source_id}/metrics/query'],
      ['get', '/v1/sources/{source_id}/logs'],
      ['get', '/api/api-keys'],
      ['post', '/api/api-keys'],
      ['delete', '/api/api-keys/{id}'],
      ['get', '/api/auth/verify-key'],
      ['get', '/health'],
      ['get', '/health/live'],
      ['get', '/health/ready'],
    ])('describes %s %s', (method, path) => {
      const operation = Object.entries(stage().document.paths).find(
        ([known]) => known.replaceAll(/\{[^}]*\}/g, '{}') === path.replaceAll(/\{[^}]*\}/g, '{}'),
      )?.[1][method];
      expect(operation).toMatchObject({
        operationId: expect.stringMatching(/\w/),
        responses: { [method === 'delete' ? '204' : path === '/api/api-keys' && method === 'post' ? '201' : '200']: expect.anything() },
      });
    });
  });
};
