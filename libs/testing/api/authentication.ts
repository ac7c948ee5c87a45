import { describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { rawExchange, rawRequest } from '../http/raw.js';
import type { Answer, Ask } from '../http/send.js';
import { bytesOf, itIf, itWith, maxRevokeMs, problem, type Section } from './stage.js';

const json = { 'content-type': 'application/json' };
/** As many as are tried. */
const maxReplicas = 10;
const nobodys = `hw_${'0'.repeat(38)}`;

/** Every route that needs a key, as a valid request for it. */
const reads: readonly string[] = [
  '/v1/fleet/health',
  '/v1/fleet/metrics?metric=m',
  '/v1/sources',
  '/v1/sources/nobody',
  '/v1/sources/nobody/metrics',
  '/v1/sources/nobody/metrics/latest',
  '/v1/sources/nobody/metrics/query',
  '/v1/sources/nobody/logs',
];
const appReads: readonly string[] = ['/api/api-keys', '/api/auth/verify-key'];
const ingest: Ask = { method: 'POST', path: '/ingest', headers: json, body: '{"source_id":"a","points":[]}' };

export const authentication: Section = (stage) => {
  describe('§5.1 every request carries a key; decisions §2: 401 with one same body for all', () => {
    const withKey = (ask: Ask, key?: string): Ask => ({
      ...ask,
      headers: { ...ask.headers, ...(key !== undefined && { 'x-api-key': key }) },
    });
    const answers = async (ask: Ask, base: string): Promise<Answer[]> => {
      const flipped = stage().own.key.slice(0, -1) + (stage().own.key.endsWith('A') ? 'B' : 'A');
      const keys = [undefined, '', 'nonsense', 'hw_short', nobodys, flipped, `${stage().own.key}x`, ` ${nobodys} `];
      const found: Answer[] = [];
      for (const key of keys) found.push(await stage().bare(withKey(ask, key), base));
      return found;
    };
    const same = (found: readonly Answer[]): void => {
      for (const answer of found) {
        problem(answer, 401, 'invalid_key');
        expect(answer.headers['www-authenticate']).toBe('ApiKey');
        expect(bytesOf(answer)).toEqual(bytesOf(found[0]!));
      }
    };

    it.each(reads)('GET %s', async (path) => same(await answers({ path }, stage().urls.api)));
    it.each(appReads)('GET %s', async (path) => same(await answers({ path }, stage().urls.app)));
    it('POST /ingest', async () => same(await answers(ingest, stage().urls.ingest)));

    it.each([
      ['the query string', (key: string): Ask => ({ path: `/v1/sources?x-api-key=${key}&api_key=${key}` })],
      ['a cookie', (key: string): Ask => ({ path: '/v1/sources', headers: { cookie: `x-api-key=${key}` } })],
      ['an Authorization header', (key: string): Ask => ({ path: '/v1/sources', headers: { authorization: `Bearer ${key}` } })],
      ['the body', (key: string): Ask => ({ ...ingest, body: JSON.stringify({ 'x-api-key': key, source_id: 'a', points: [] }) })],
    ])('a key in %s is no key', async (_, ask) => {
      const answer = await stage().bare(ask(stage().own.key), stage().urls.ingest);
      problem(answer, 401, 'invalid_key');
      expect(answer.text).not.toContain(stage().own.key);
    });

    it('two x-api-key headers are no valid key', async () => {
      const key = `x-api-key: ${stage().own.key}`;
      const answer = await rawExchange(stage().urls.api, (socket) =>
        socket.write(rawRequest('GET /v1/sources HTTP/1.1', ['host: a', key, key, 'connection: close'])),
      );
      problem(answer, 401, 'invalid_key');
    });
  });

  describe('§5.3–4 scopes: only ingest needs write, reads take any key; decisions §7: keys need admin', () => {
    it.each([
      [['read'], { ingest: 403, read: 200, admin: 403 }],
      [['write'], { ingest: 200, read: 200, admin: 403 }],
      [['read', 'write'], { ingest: 200, read: 200, admin: 403 }],
      [['read', 'write', 'admin'], { ingest: 200, read: 200, admin: 200 }],
      [['admin'], { ingest: 403, read: 200, admin: 200 }],
    ])('a key with %j', async (scopes, expected) => {
      const client = stage().client((await stage().newKey(scopes)).api_key);
      const [write, ...others] = [await client.askIngest(ingest), ...(await Promise.all(reads.map((path) => client.ask({ path }))))];
      const admin = await client.askApp({ path: '/api/api-keys' });
      if (expected.ingest === 403) problem(write, 403, 'missing_scope');
      if (expected.admin === 403) problem(admin, 403, 'missing_scope');
      expect([write.status, admin.status]).toEqual([expected.ingest, expected.admin]);
      // The one source that nobody has is 404 for whoever may read.
      expect(others.map((answer) => answer.status)).toEqual(reads.map((path) => (path.endsWith('/nobody') ? 404 : expected.read)));
    });

    it('GET /api/auth/verify-key tells the organization and the scopes', async () => {
      const verified = async (key: string): Promise<unknown> => {
        const answer = await stage().client(key).askApp({ path: '/api/auth/verify-key' });
        return [answer.status, JSON.parse(answer.text)];
      };
      const writer = await stage().newKey(['write']);
      const [, own] = (await verified(stage().own.key)) as [number, { org_id: string }];
      expect(await verified(writer.api_key)).toEqual([200, { org_id: own.org_id, scopes: ['write'] }]);
    });
  });

  describe('§5.5 and §7: 402 without a payment method on file, for reads and ingest alike', () => {
    const row = itWith('UNPAID_API_KEY');
    row.each(reads)('GET %s (needs UNPAID_API_KEY)', async (path) => {
      problem(await stage().unpaid.ask({ path }), 402, 'payment_required');
    });
    row('POST /ingest (needs UNPAID_API_KEY)', async () => {
      problem(await stage().unpaid.askIngest(ingest), 402, 'payment_required');
    });
  });

  describe('§5.6 and decisions §7: keys are made, listed, changed over and deleted', () => {
    it('a new key has the fixed prefix, is shown once, and is listed by its first 8 and last 4 characters', async () => {
      const made = await stage().newKey(['read', 'write']);
      expect(made.api_key).toMatch(/^hw_[0-9A-Za-z]{38}$/);
      const list = await stage().own.askApp({ path: '/api/api-keys' });
      expect([list.status, list.text.includes(made.id), list.text.includes(made.api_key)]).toEqual([200, true, false]);
      expect(list.text).toContain(made.api_key.slice(0, 8));
      expect(list.text).toContain(made.api_key.slice(-4));
      expect(list.text).not.toMatch(/[0-9a-f]{64}/);
    });

    it('both keys work while a deployment changes over; the old one stops within 10 s of its deletion, the new one goes on', async () => {
      const [before, after] = [await stage().newKey(['write']), await stage().newKey(['write'])];
      const [old, fresh] = [stage().client(before.api_key), stage().client(after.api_key)];
      expect([(await old.askIngest(ingest)).status, (await fresh.askIngest(ingest)).status]).toEqual([200, 200]);
      const gone = await stage().own.askApp({ method: 'DELETE', path: `/api/api-keys/${before.id}` });
      expect([gone.status, gone.text]).toEqual([204, '']);
      await Promise.all(
        [() => old.askIngest(ingest), () => old.ask({ path: '/v1/sources' })].map((asks) =>
          eventually(async () => problem(await asks(), 401, 'invalid_key'), maxRevokeMs),
        ),
      );
      expect((await fresh.askIngest(ingest)).status).toBe(200);
      await eventually(async () =>
        problem(await stage().own.askApp({ method: 'DELETE', path: `/api/api-keys/${before.id}` }), 404, 'unknown_api_key'),
      );
    });

    itWith('OTHER_API_KEY')("an organization neither sees nor deletes another's keys (needs OTHER_API_KEY)", async () => {
      const made = await stage().newKey(['write']);
      const list = await stage().other.askApp({ path: '/api/api-keys' });
      expect([list.status, list.text.includes(made.id)]).toEqual([200, false]);
      const foreign = await stage().other.askApp({ method: 'DELETE', path: `/api/api-keys/${made.id}` });
      const unknown = await stage().other.askApp({ method: 'DELETE', path: '/api/api-keys/key_000000000000000000000000' });
      problem(foreign, 404, 'unknown_api_key');
      expect(bytesOf(foreign)).toEqual(bytesOf(unknown));
      expect((await stage().client(made.api_key).askIngest(ingest)).status).toBe(200);
    });

    it.each([
      ['without a body', undefined],
      ['not JSON', '{'],
      ['an array', '[]'],
      ['no scopes', '{"name":"x","scopes":[]}'],
      ['an unknown scope', '{"name":"x","scopes":["root"]}'],
      ['scopes that are no list', '{"name":"x","scopes":"write"}'],
      ['a name that is no text', '{"name":1,"scopes":["write"]}'],
      ['a name of 10 KB', JSON.stringify({ name: 'x'.repeat(10_240), scopes: ['write'] })],
    ])('POST /api/api-keys %s is 400', async (_, body) => {
      problem(await stage().own.askApp({ method: 'POST', path: '/api/api-keys', headers: json, body }), 400);
    });
  });

  describe('who asks is who the key says', () => {
    itWith('OTHER_API_KEY')('another organization named in a header, the query or the body is ignored (needs OTHER_API_KEY)', async () => {
      const id = stage().id('named-org');
      const answer = await stage().other.askApp({ path: '/api/auth/verify-key' });
      const { org_id: orgId } = JSON.parse(answer.text) as { org_id: string };
      expect((await stage().own.askApp({ path: '/api/auth/verify-key' })).text).not.toContain(orgId);
      const headers = { ...json, 'x-org-id': orgId, 'x-organization': orgId };
      const body = JSON.stringify({ org_id: orgId, source_id: id, points: [{ metric: 'm', value: 1, org_id: orgId }] });
      expect((await stage().own.askIngest({ method: 'POST', path: `/ingest?org_id=${orgId}`, headers, body })).status).toBe(200);
      await stage().reads<string[]>(id, `/metrics?org_id=${orgId}`, (names) => expect(names).toEqual(['m']));
    });
  });

  describe('who guesses keys is slowed down', () => {
    const row = itIf(['127.0.0.1', 'localhost'].includes(new URL(process.env['API_URL'] ?? 'http://127.0.0.1').hostname));
    row('after 20 failed keys in a minute at a replica an address gets 429 with Retry-After (needs a server on this machine)', async () => {
      const from = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}.${1 + Math.floor(Math.random() * 250)}`;
      const guess = (at: number): Promise<Answer> => stage().bare({ path: '/v1/sources', from, headers: { 'x-api-key': `hw_wrong${at}` } });
      let failed = 0;
      let answer = await guess(failed);
      for (; answer.status !== 429 && failed < 20 * maxReplicas; answer = await guess(failed)) {
        problem(answer, 401, 'invalid_key');
        failed++;
      }
      problem(answer, 429, 'too_many_failed_keys');
      expect(failed).toBeGreaterThanOrEqual(20);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    });
  });
};
