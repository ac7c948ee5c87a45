import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { send, type Answer, type Ask } from '../http/send.js';
import { people } from '../make-people.js';
import { bytesOf, hasPeople, itPeople, problem, type Section } from './stage.js';
import { Visitor } from './visitor.js';

const json = { 'content-type': 'application/json' };
const deviceCode = /^[\w-]{22,}$/;

interface Started {
  readonly device_code: string;
  readonly user_code: string;
}

export const claims: Section = (stage) => {
  describe('§4.13 claiming a key; decisions §7', () => {
    const app = (ask: Ask): Promise<Answer> => stage().bare(ask, stage().urls.app);
    /** Nobody else asks from this address: the open claims of one are few. */
    const from = `127.77.${Math.floor(Math.random() * 250)}.${1 + Math.floor(Math.random() * 250)}`;
    const begin = (body: unknown = { name: `pump ${stage().run}` }, address = from, more: Ask['headers'] = {}): Promise<Answer> =>
      app({
        method: 'POST',
        path: '/api/auth/claim',
        headers: { ...json, ...more },
        body: JSON.stringify(body),
        ...(stage().onLoopback && { from: address }),
      });
    const started = async (body?: unknown): Promise<Started> => {
      const answer = await begin(body);
      expect(answer).toMatchObject({ status: 201 });
      return JSON.parse(answer.text) as Started;
    };
    const poll = (code: string): Promise<Answer> => app({ path: `/api/auth/claim/${code}` });
    /** Polls as a client does: who polls too fast waits. */
    const polled = async ({ device_code: code }: Started, status: string): Promise<Record<string, unknown>> =>
      eventually(async () => {
        const answer = await poll(code);
        expect(answer.status).toBe(200);
        const its = JSON.parse(answer.text) as Record<string, unknown>;
        expect(its['status']).toBe(status);
        return its;
      });
    const decide = (code: string, what: 'approve' | 'deny', body: object = {}, more: Ask['headers'] = {}): Promise<Answer> =>
      stage().owner.ask({
        method: 'POST',
        path: `/api/auth/claims/${code}/${what}`,
        headers: { ...json, ...more },
        ...(what === 'approve' && { body: JSON.stringify(body) }),
      });

    it('starts with exactly what clients read', async () => {
      const answer = await begin();
      const { device_code: code, user_code: typed, verification_url: url, ...rest } = JSON.parse(answer.text) as Record<string, string>;
      expect([answer.status, rest]).toEqual([201, { expires_in: 900, interval: 5 }]);
      expect(code).toMatch(deviceCode);
      expect(typed).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
      expect(new URL(url!)).toMatchObject({ pathname: '/claim', search: `?code=${typed}` });
      expect(answer.headers['cache-control']).toBe('no-store');
      // Another replica may not know it yet.
      await eventually(async () => {
        const pending = await poll(code!);
        expect([pending.status, JSON.parse(pending.text)]).toEqual([200, { status: 'pending', interval: 5 }]);
      });
    });

    it.each([
      ['no name', {}],
      ['an empty name', { name: ' ' }],
      ['a name of 10 KB', { name: 'x'.repeat(10_240) }],
      ['a name with control characters', { name: 'a\u0007b' }],
      ['the scope admin', { name: 'x', scopes: ['admin'] }],
      ['sources that are none', { name: 'x', sources: ['/'] }],
    ])('does not start with %s: 400', async (_, body) => {
      problem(await begin(body), 400, 'invalid_body');
    });

    it('is started and polled by no page of another origin', async () => {
      const foreign = { origin: 'https://evil.example' };
      for (const headers of [foreign, { 'sec-fetch-site': 'cross-site' }])
        problem(await begin(undefined, from, headers), 403, 'cross_site');
      const { device_code: code } = await started();
      const seen = await app({ path: `/api/auth/claim/${code}`, headers: foreign });
      const asked = await app({ method: 'OPTIONS', path: '/api/auth/claim', headers: foreign });
      for (const { headers } of [seen, asked]) expect(headers['access-control-allow-origin']).toBeUndefined();
    });

    it('is unknown to who guesses: 404', async () => {
      for (const code of ['x', 'A'.repeat(43), '%00', 'a'.repeat(2000)]) problem(await poll(code), 404, 'unknown_claim');
    });

    itPeople('takes no session for a key, and no key for a session', async () => {
      const { user_code: code } = await started();
      const path = `/api/auth/claims/${code}`;
      const approve = { method: 'POST', path: `${path}/approve`, headers: json, body: '{}' } as const;
      problem(await app(approve), 401, 'not_signed_in');
      problem(await stage().own.askApp(approve), 401, 'not_signed_in');
      problem(await stage().own.askApp({ path }), 401, 'not_signed_in');
      for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
        problem(await decide(code, 'approve', {}, headers), 403, 'cross_site');
      expect((await stage().owner.ask({ path })).text).toContain('"status":"pending"');
    });

    itPeople('is paced: a poll that follows at once is 429 with Retry-After', async () => {
      const { device_code: code } = await started();
      await eventually(async () => {
        const [first, ...more] = [await poll(code), await poll(code), await poll(code)];
        expect([200, 429]).toContain(first.status);
        const early = more.find(({ status }) => status === 429)!;
        problem(early, 429, 'over_rate');
        expect(Number(early.headers['retry-after'])).toBeGreaterThan(0);
        expect(Number(early.headers['retry-after'])).toBeLessThanOrEqual(5);
      });
    });

    describe('that a person has approved', () => {
      let claim: Started;
      let given: Record<string, unknown>;
      const name = (): string => `<b>pump</b> ${stage().run}`;
      beforeAll(async () => {
        if (!hasPeople) return;
        claim = await started({ name: name(), sources: ['claimed-*', `press ${stage().run}`.replace(' ', '-')] });
        const shown = await eventually(async () => {
          const answer = await stage().owner.ask({ path: `/api/auth/claims/${claim.user_code.toLowerCase().replace('-', '')}` });
          expect(answer.status).toBe(200);
          return JSON.parse(answer.text) as Record<string, unknown>;
        });
        expect(shown).toMatchObject({ user_code: claim.user_code, status: 'pending', name: name(), scopes: ['write'] });
        expect(JSON.stringify(shown)).not.toContain(claim.device_code);
        expect((await decide(claim.user_code, 'approve', { sources: ['claimed-*'] })).status).toBe(204);
        const head = await send(stage().urls.app, { method: 'HEAD', path: `/api/auth/claim/${claim.device_code}` });
        expect([head.status, head.text]).toEqual([200, '']);
        given = await polled(claim, 'approved');
      }, 60_000);

      itPeople('gives the key on the first poll, for the organization and the sources that were approved', async () => {
        expect(given).toEqual({ status: 'approved', api_key: expect.stringMatching(/^hw_[0-9A-Za-z]{38}$/), org_id: expect.any(String) });
        const client = stage().client(String(given['api_key']));
        const verified = await eventually(async () => {
          const answer = await client.askApp({ path: '/api/auth/verify-key' });
          expect(answer.status).toBe(200);
          return JSON.parse(answer.text) as unknown;
        });
        expect(verified).toEqual({ org_id: given['org_id'], scopes: ['write'], sources: ['claimed-*'] });
        await eventually(async () => expect((await client.ingest({ source_id: 'claimed-1', points: [] })).status).toBe(200));
        problem(await client.ingest({ source_id: 'other', points: [] }), 403, 'foreign_source');
        problem(await client.askApp({ path: '/api/api-keys' }), 403, 'missing_scope');
      });

      itPeople('gives it to no other poll', async () => {
        expect(await polled(claim, 'approved')).toEqual({ status: 'approved', org_id: given['org_id'] });
      });

      itPeople('is listed with who has approved, and kept nowhere', async () => {
        const list = await stage().own.askApp({ path: '/api/api-keys' });
        const listed = (JSON.parse(list.text) as Record<string, unknown>[]).find((one) => one['name'] === name());
        expect(listed).toMatchObject({ scopes: ['write'], sources: ['claimed-*'], created_by: await stage().owner.accountId() });
        expect(list.text).not.toContain(String(given['api_key']));
      });

      itPeople('is decided: the same person may say so again, and nobody may say otherwise', async () => {
        expect((await decide(claim.user_code, 'approve', { sources: ['claimed-*'] })).status).toBe(204);
        expect((await decide(claim.user_code, 'deny')).status).toBe(404);
      });
    });

    itPeople('that is denied gives nothing', async () => {
      const claim = await started();
      await eventually(async () => expect((await decide(claim.user_code, 'deny')).status).toBe(204));
      expect(await polled(claim, 'denied')).toEqual({ status: 'denied' });
      problem(await decide(claim.user_code, 'approve'), 404, 'unknown_claim');
      const text = expect.stringContaining(claim.user_code);
      await eventually(async () => {
        const { entries } = JSON.parse((await stage().owner.ask({ path: '/api/audit' })).text) as { entries: unknown[] };
        expect(entries).toContainEqual(expect.objectContaining({ did: 'claim.denied', text }));
      });
    });

    itPeople('is approved for no organization that the person does not belong to', async () => {
      const { user_code: code } = await started();
      const { text } = await stage().other.askApp({ path: '/api/auth/verify-key' });
      const { org_id: others } = JSON.parse(text) as { org_id: string };
      for (const organization of ['org_nobody', others]) {
        const answer = await eventually(async () => {
          const its = await decide(code, 'approve', {}, { 'x-organization-id': organization });
          expect(its.status).not.toBe(404);
          return its;
        });
        problem(answer, 403, 'no_organization');
      }
    });

    itPeople('wrong codes are counted: the sixth of an account is 429, wherever it comes from', async () => {
      let guesses = 0;
      // A new address each time: the limit of an address is another one.
      const guess = (code = 'BBBB-BBBB'): Promise<Answer> =>
        stage().stranger.ask({
          path: `/api/auth/claims/${code}`,
          ...(stage().onLoopback && { from: from.replace('127.77', `127.${100 + guesses++}`) }),
        });
      const first = await guess();
      problem(first, 404, 'unknown_claim');
      expect(bytesOf(await guess('nonsense'))).toEqual(bytesOf(first));
      for (let at = 2; at < 5; at++) problem(await guess(), 404, 'unknown_claim');
      let answer = await guess();
      // Each replica counts for itself.
      for (let tries = 0; answer.status === 404 && tries < 50; tries++) answer = await guess();
      problem(answer, 429, 'too_many_wrong_codes');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    });

    describe('/auth/cli of older clients', () => {
      const browser = new Visitor((ask) => send(stage().urls.app, ask), people.owner);
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const fields = (more: Readonly<Record<string, string>> = {}): string =>
        new URLSearchParams({ state: 'a&b=c', callback: 'http://127.0.0.1:53682/done', name: '<i>cli</i>', ...more }).toString();
      const give = (body: string, headers: Ask['headers'] = {}): Promise<Answer> =>
        browser.ask({ method: 'POST', path: '/auth/cli', headers: { ...form, ...headers }, body });

      itPeople('asks who has not signed in to do so', async () => {
        const { status, headers } = await send(stage().urls.app, { path: `/auth/cli?${fields()}` });
        expect([status, headers['location']]).toEqual([303, `/sign-in?next=${encodeURIComponent(`/auth/cli?${fields()}`)}`]);
      });

      itPeople('asks before it gives anything', async () => {
        const { status, headers, text } = await browser.ask({ path: `/auth/cli?${fields()}` });
        expect([status, text.includes('&lt;i&gt;cli&lt;/i&gt;'), text.includes('hw_')]).toEqual([200, true, false]);
        expect(headers['content-security-policy']).toContain("form-action 'self' http://127.0.0.1:53682;");
        expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      });

      itPeople('brings a key that reads and writes to the port where the client waits', async () => {
        const { status, headers } = await give(fields());
        const to = new URL(headers['location']!);
        expect([status, to.origin, to.pathname, to.searchParams.get('state')]).toEqual([303, 'http://127.0.0.1:53682', '/done', 'a&b=c']);
        const client = stage().client(to.searchParams.get('key')!);
        await eventually(async () => {
          const answer = await client.askApp({ path: '/api/auth/verify-key' });
          expect(JSON.parse(answer.text)).toMatchObject({ scopes: ['read', 'write'] });
        });
      });

      itPeople('brings it nowhere else, and for no page of another site', async () => {
        for (const callback of [
          'http://evil.example:1',
          'https://127.0.0.1:1',
          'http://localhost:1@evil.example',
          'http://localhost',
          'http://[::1]:53682',
          '',
        ]) {
          expect((await browser.ask({ path: `/auth/cli?${fields({ callback })}` })).status).toBe(400);
          expect((await give(fields({ callback }))).status).toBe(400);
        }
        expect((await give(fields(), { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
        expect((await give(fields(), { origin: 'https://evil.example' })).status).toBe(403);
      });
    });

    it('of one address ten are open: the next is 429 with Retry-After', async () => {
      if (!stage().onLoopback) return;
      const address = from.replace('127.77', '127.78');
      const statuses: number[] = [];
      for (let at = 0; at < 11; at++) statuses.push((await begin(undefined, address)).status);
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 201), 429]);
      problem(await begin(undefined, address), 429, 'too_many_claims');
      expect((await begin()).status).toBe(201);
    });
  });
};
