import { describe, expect } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { Answer, Ask } from '../http/send.js';
import { bytesOf, itPeople, known, problem, type Section } from './stage.js';
import { Visitor } from './visitor.js';

const json = { 'content-type': 'application/json' };
const password = 'correct horse battery';

export const members: Section = (stage) => {
  describe('people of an organization', () => {
    const app = (ask: Ask): Promise<Answer> => stage().bare(ask, stage().urls.app);
    const body = (value: object): Pick<Ask, 'headers' | 'body'> => ({ headers: json, body: JSON.stringify(value) });
    const invite = async (owner: Visitor, role: string): Promise<string> => {
      const answer = await owner.ask({ method: 'POST', path: '/api/invitations', ...body({ role }) });
      expect(answer.status).toBe(201);
      return (JSON.parse(answer.text) as { link: string }).link.split('/').at(-1)!;
    };
    let made = 0;
    /** Somebody new, once every replica knows the account. */
    const somebody = async (
      owner: Visitor,
      role: string,
    ): Promise<{ readonly id: string; readonly visitor: Visitor; readonly email: string }> => {
      const email = `m${++made}.${stage().run}@example.com`;
      const token = await invite(owner, role);
      // Another replica may not know the invitation yet.
      const answer = await eventually(async () => {
        const its = await app({ method: 'POST', path: '/api/invitations/accept', ...body({ token, email, password }) });
        expect(its.status).toBe(200);
        return its;
      });
      const visitor = new Visitor((ask) => stage().bare(ask, stage().urls.app), { email, password });
      return { id: (JSON.parse(answer.text) as { account_id: string }).account_id, visitor, email };
    };
    const refused = (visitor: Visitor, ask: Ask, status: number, code: string): Promise<unknown> =>
      known(async () => problem(await visitor.ask(ask), status, code));

    itPeople('sign in with a password; an address that nobody has is told the same as a wrong password', async () => {
      const { email } = await somebody(stage().owner, 'viewer');
      const enter = (value: object): Promise<Answer> => app({ method: 'POST', path: '/api/auth/sign-in', ...body(value) });
      const [wrong, unknown] = [await enter({ email, password: 'wrong' }), await enter({ email: `x${email}`, password })];
      problem(wrong, 401, 'wrong_password');
      expect(bytesOf(wrong)).toEqual(bytesOf(unknown));
      const right = await enter({ email, password });
      expect([right.status, right.headers['set-cookie']]).toEqual([
        200,
        expect.stringMatching(/^(__Host-)?headwater_session=[\w-]{43}; .*HttpOnly; SameSite=Lax/),
      ]);
      const cookie = right.headers['set-cookie']!.split(';', 1)[0]!;
      await eventually(async () => expect((await app({ path: '/api/auth/session', headers: { cookie } })).status).toBe(200));
      expect((await app({ method: 'POST', path: '/api/auth/sign-out', headers: { cookie } })).status).toBe(204);
      await known(async () => problem(await app({ path: '/api/auth/session', headers: { cookie } }), 401, 'not_signed_in'));
    });

    itPeople('do what their role says, until it is another one', async () => {
      const { id, visitor } = await somebody(stage().owner, 'viewer');
      await refused(visitor, { path: '/api/api-keys' }, 403, 'missing_role');
      const change: Ask = { method: 'PATCH', path: `/api/people/${id}`, ...body({ role: 'member' }) };
      problem(await visitor.ask(change), 403, 'missing_role');
      expect((await stage().owner.ask(change)).status).toBe(200);
      await known(async () =>
        expect((await visitor.ask({ path: '/api/api-keys' })).text).toBe((await stage().own.askApp({ path: '/api/api-keys' })).text),
      );
      expect((await stage().owner.ask({ method: 'DELETE', path: `/api/people/${id}` })).status).toBe(204);
      await refused(visitor, { path: '/api/api-keys' }, 401, 'invalid_key');
    });

    itPeople('never see another organization', async () => {
      const { id } = await somebody(stage().owner, 'viewer');
      const other = stage().otherOwner;
      const invited = await stage().owner.ask({ method: 'POST', path: '/api/invitations', ...body({ role: 'viewer' }) });
      const [{ id: orgId }] = JSON.parse((await stage().owner.ask({ path: '/api/organizations' })).text) as [{ id: string }];
      /** By path, something of ours that its answer names. */
      const marks = {
        '/api/people': id,
        '/api/invitations': (JSON.parse(invited.text) as { id: string }).id,
        '/api/audit': id,
        '/api/organizations': orgId,
        '/api/api-keys': (await stage().newKey(['read'])).id,
      };
      for (const [path, mark] of Object.entries(marks)) {
        // Another replica may not know it yet.
        await known(async () => expect([path, (await stage().owner.ask({ path })).text]).toEqual([path, expect.stringContaining(mark)]));
        const theirs = await other.ask({ path });
        expect([path, theirs.status, theirs.text.includes(mark)]).toEqual([path, 200, false]);
      }
      for (const [method, rest] of [
        ['DELETE', {}],
        ['PATCH', body({ role: 'owner' })],
      ] as const) {
        const [foreign, nobodys] = [id, 'acc_nobody'].map((one) => other.ask({ method, path: `/api/people/${one}`, ...rest }));
        problem(await foreign!, 404, 'unknown_person');
        expect(bytesOf(await foreign!)).toEqual(bytesOf(await nobodys!));
      }
      const named = (organization: string): Promise<Answer> =>
        other.ask({ path: '/api/api-keys', headers: { 'x-organization-id': organization } });
      problem(await named(orgId), 403, 'no_organization');
      expect(bytesOf(await named(orgId))).toEqual(bytesOf(await named('org_nobody')));
    });

    itPeople('change nothing that another site makes their browser ask for', async () => {
      const answer = await stage().owner.ask({
        method: 'POST',
        path: '/api/invitations',
        headers: { ...json, origin: 'https://evil.example' },
        body: '{"role":"owner"}',
      });
      problem(answer, 403, 'cross_site');
    });

    itPeople('are told in the audit log', async () => {
      const { email } = await somebody(stage().owner, 'viewer');
      await known(async () => {
        const { entries } = JSON.parse((await stage().owner.ask({ path: '/api/audit?limit=10' })).text) as {
          entries: { text: string; by: object }[];
        };
        expect(entries).toContainEqual(expect.objectContaining({ did: 'person.joined', text: `${email} as viewer` }));
      });
    });
  });
};
