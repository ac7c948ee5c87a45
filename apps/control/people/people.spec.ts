import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Accounts, CLOCK, createHttpApp, deciders, InFlight, Leftovers, maxFailuresOfAddress, operator, Outbound, People } from '#edge';
import { type AnyTopic, entry, readLog, RECORD_LOG, Runner, VIEWS } from '#log';
import { type AuditEntry, claimLifetimeMs, invitationMs, operatorOrgId, type PersonRole, resetMs, type TelemetryError } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { eventually, makeKey, makeOrganization, send, type Answer, noOutbound, NoStoresModule } from '#testing';
import {
  accounts,
  apiKeys,
  audit,
  decisions,
  invitations,
  keyUses,
  memberships,
  organizations,
  outcomes,
  peopleCommands,
  sessions,
  sessionUses,
} from '#topics';
import { Claims } from '../claims/claims.js';
import { ControlModule } from '../control.module.js';

const password = 'correct horse battery';
let nowMs = 1_700_000_000_000;
let folder: string;
let storage: Storage;
let running: readonly Runner[];
let app: NestFastifyApplication;
let url: string;
let org = '';
let other = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-members-'));
  storage = await openStorage(folder);
  const clock = (): number => nowMs;
  const values: [symbol | typeof Outbound, unknown][] = [
    [RECORD_LOG, storage.log],
    [VIEWS, storage.views],
    [CLOCK, clock],
    [Outbound, noOutbound],
  ];
  const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
  const ports = { module: class Ports {}, global: true, providers, exports: providers };
  app = await createHttpApp(
    { module: class Role {}, imports: [ports, NoStoresModule, ControlModule] },
    { publicUrl: 'http://telemetry.example.com' },
  );
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  org = await makeOrganization(storage.log, true);
  other = await makeOrganization(storage.log, false);
  running = deciders(storage.log, storage.views, clock).map(
    (decider) => new Runner(storage.log, decider, { checkpointMs: 1e6, report: () => {} }),
  );
  await Promise.all(running.map((runner) => runner.start()));
});
afterAll(async () => {
  await app.close();
  await Promise.all(running.map((runner) => runner.stop()));
  await storage.close();
  await rm(folder, { recursive: true });
});

type Cookie = string | undefined;
const ask = (method: string, path: string, cookie?: Cookie, body?: object): Promise<Answer> =>
  send(url, {
    method,
    path: `/api/${path}`,
    headers: { ...(body && { 'content-type': 'application/json' }), ...(cookie !== undefined && { cookie }) },
    ...(body && { body: JSON.stringify(body) }),
  });
interface Seen {
  readonly id: string;
  readonly link: string;
  readonly code: string;
  readonly account_id: string;
  readonly organizations: readonly object[];
  readonly entries: readonly { readonly did: string; readonly about: string; readonly by: { readonly name: string } }[];
}
const jsonOf = ({ text }: Answer): Seen => JSON.parse(text) as Seen;
const codeOf = (answer: Answer): unknown => [answer.status, answer.status < 400 ? '' : jsonOf(answer).code];
const outcomeOf = (what: Promise<unknown>): Promise<string> =>
  what.then(
    () => 'done',
    (error: unknown) => (error as TelemetryError).code,
  );
const bytes = ({ status, text }: Answer): unknown => [status, text.replace(/"request_id":"\w+"/, '')];
const cookieOf = ({ headers }: Answer): string => headers['set-cookie']!.split(';', 1)[0]!;
const tokenOf = (link: string): string => link.split('/').at(-1)!;

const invited = async (orgId: string, role: PersonRole, email = ''): Promise<string> =>
  tokenOf((await app.get(People).invite(orgId, role, email, operator)).link);
const accept = (token: string, email: string, text = password): Promise<Answer> =>
  ask('POST', 'invitations/accept', undefined, { token, email, password: text });
let made = 0;
interface Somebody {
  readonly id: string;
  readonly email: string;
  readonly cookie: string;
}
async function somebody(orgId: string, role: PersonRole): Promise<Somebody> {
  const email = `p${++made}@example.com`;
  const answer = await accept(await invited(orgId, role), email);
  return { id: jsonOf(answer).account_id, email, cookie: cookieOf(answer) };
}
const recorded = async (...topics: readonly AnyTopic[]): Promise<unknown[]> => {
  const found: unknown[] = [];
  await readLog(storage.log, { topics, from: 'beginning', take: (records) => void found.push(...records) });
  return found;
};
const all = (): Promise<unknown[]> => recorded(accounts, audit, decisions, invitations, memberships, outcomes, peopleCommands, sessions);
const audited = async (orgId: string): Promise<AuditEntry[]> => {
  const found: AuditEntry[] = [];
  await readLog(storage.log, {
    topics: [audit],
    from: 'beginning',
    take: (records) => {
      for (const { value } of records) if ((value as AuditEntry).orgId === orgId) found.push(value as AuditEntry);
    },
  });
  return found;
};

describe('an invitation', () => {
  it('is a link of the public address, for one person, and makes an account that is signed in', async () => {
    const { link } = await app.get(People).invite(org, 'owner', '', operator);
    expect(link).toMatch(/^http:\/\/telemetry\.example\.com\/join\/[\w-]{43}$/);
    const answer = await accept(tokenOf(link), ' First@Example.com ');
    expect([answer.status, jsonOf(answer)]).toEqual([
      200,
      expect.objectContaining({ email: 'first@example.com', organizations: [expect.objectContaining({ id: org, role: 'owner' })] }),
    ]);
    expect((await ask('GET', 'people', cookieOf(answer))).status).toBe(200);
    expect(codeOf(await accept(tokenOf(link), 'second@example.com'))).toEqual([404, 'unknown_invitation']);
    expect((await ask('POST', 'auth/sign-in', undefined, { email: 'first@example.com', password })).status).toBe(200);
    const written = JSON.stringify(await all());
    expect([written.includes(tokenOf(link)), written.includes(password)]).toEqual([false, false]);
  });

  it('is made, listed and withdrawn by an owner, and is nothing to another organization', async () => {
    const [owner, stranger] = [await somebody(org, 'owner'), await somebody(other, 'owner')];
    const answer = await ask('POST', 'invitations', owner.cookie, { role: 'member', email: 'New@Example.com' });
    const { link, ...invitation } = jsonOf(answer);
    expect([answer.status, invitation]).toEqual([
      201,
      {
        id: expect.stringMatching(/^inv_/),
        role: 'member',
        email: 'new@example.com',
        invited_by: owner.email,
        expires_ms: nowMs + invitationMs,
      },
    ]);
    expect(jsonOf(await ask('GET', 'invitations', owner.cookie))).toContainEqual(invitation);
    expect((await ask('GET', 'invitations', stranger.cookie)).text).not.toContain(invitation.id);
    const foreign = await ask('DELETE', `invitations/${invitation.id}`, stranger.cookie);
    expect([codeOf(foreign), bytes(foreign)]).toEqual([
      [404, 'unknown_invitation'],
      bytes(await ask('DELETE', 'invitations/inv_nobody', stranger.cookie)),
    ]);
    expect(codeOf(await accept(tokenOf(link), 'else@example.com'))).toEqual([403, 'foreign_invitation']);
    expect((await ask('DELETE', `invitations/${invitation.id}`, owner.cookie)).status).toBe(204);
    expect(codeOf(await accept(tokenOf(link), 'new@example.com'))).toEqual([404, 'unknown_invitation']);
  });

  it('brings somebody who has an account into another organization, once signed in', async () => {
    const { cookie, email } = await somebody(org, 'viewer');
    const token = await invited(other, 'member');
    expect(codeOf(await accept(token, email))).toEqual([400, 'email_taken']);
    expect(codeOf(await ask('POST', 'invitations/accept', undefined, { token }))).toEqual([401, 'not_signed_in']);
    const answer = await ask('POST', 'invitations/accept', cookie, { token });
    expect(jsonOf(answer).organizations).toEqual([
      expect.objectContaining({ id: org, role: 'viewer' }),
      expect.objectContaining({ id: other, role: 'member' }),
    ]);
    expect(codeOf(await ask('POST', 'invitations/accept', cookie, { token: await invited(org, 'owner') }))).toEqual([
      400,
      'already_member',
    ]);
  });

  it('says of a hundred addresses in a quarter of an hour whether they have an account, and of no more', async () => {
    nowMs += 900_000;
    const { email } = await somebody(org, 'viewer');
    const token = await invited(org, 'viewer');
    for (let at = 0; at < maxFailuresOfAddress; at++) expect(codeOf(await accept(token, email))).toEqual([400, 'email_taken']);
    for (const one of [email, 'free@example.com']) expect(codeOf(await accept(token, one))).toEqual([429, 'too_many_sign_ins']);
    nowMs += 900_000;
    expect((await accept(token, 'free@example.com')).status).toBe(200);
  });

  it('counts who signs up until the digest of the password is made', async () => {
    const { email } = await somebody(org, 'viewer');
    const token = await invited(org, 'viewer');
    const signUp = (its: string): Promise<string> => outcomeOf(app.get(People).signUp(token, { email: its, password }, '198.51.100.1'));
    for (let at = 2; at < maxFailuresOfAddress; at++) expect(await signUp(email)).toBe('email_taken');
    const atOnce = ['a', 'b', 'c', 'd'].map((name) => signUp(`${name}@at-once.example`));
    expect((await Promise.all(atOnce)).toSorted()).toEqual(['done', 'too_many_sign_ins', 'too_many_sign_ins', 'unknown_invitation']);
  });

  it('that two use at once lets one in', async () => {
    const token = await invited(org, 'viewer');
    const answers = await Promise.all(['x', 'y', 'z'].map((name) => accept(token, `${name}@example.com`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
  });

  it('for one address that two use at once makes one account', async () => {
    const tokens = [await invited(org, 'viewer'), await invited(other, 'viewer')];
    const answers = await Promise.all(tokens.map((token) => accept(token, 'twin@example.com')));
    expect(answers.map(codeOf)).toEqual(
      expect.arrayContaining([
        [200, ''],
        [400, 'email_taken'],
      ]),
    );
  });

  it('is over after 7 days', async () => {
    const token = await invited(org, 'viewer');
    nowMs += invitationMs;
    expect(codeOf(await accept(token, 'late@example.com'))).toEqual([404, 'unknown_invitation']);
  });

  it.each([
    ['no address', { email: 'nobody', password }, '/email'],
    ['a short password', { email: 'short@example.com', password: 'eleven char' }, '/password'],
    ['a common password', { email: 'common@example.com', password: 'password1234' }, '/password'],
    ['an address without a password', { email: 'half@example.com' }, ''],
  ])('is not accepted with %s', async (_, body, pointer) => {
    const answer = await ask('POST', 'invitations/accept', undefined, { token: await invited(org, 'viewer'), ...body });
    expect([codeOf(answer), jsonOf(answer)]).toEqual([
      [400, 'invalid_body'],
      expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
    ]);
  });
});

describe('people', () => {
  it('are listed, given roles and removed by an owner, and never seen by another organization', async () => {
    const [owner, member, stranger] = [await somebody(org, 'owner'), await somebody(org, 'member'), await somebody(other, 'owner')];
    expect(jsonOf(await ask('GET', 'people', owner.cookie))).toContainEqual({
      id: member.id,
      email: member.email,
      role: 'member',
      since_ms: nowMs,
    });
    expect((await ask('GET', 'people', stranger.cookie)).text).not.toContain(member.id);
    for (const [method, body] of [
      ['PATCH', { role: 'viewer' }],
      ['DELETE', undefined],
    ] as const) {
      const foreign = await ask(method, `people/${member.id}`, stranger.cookie, body);
      expect([codeOf(foreign), bytes(foreign)]).toEqual([
        [404, 'unknown_person'],
        bytes(await ask(method, 'people/acc_nobody', stranger.cookie, body)),
      ]);
      expect(codeOf(await ask(method, `people/${owner.id}`, member.cookie, body))).toEqual([403, 'missing_role']);
    }
    expect((await ask('GET', 'api-keys', member.cookie)).status).toBe(200);
    expect(jsonOf(await ask('PATCH', `people/${member.id}`, owner.cookie, { role: 'viewer' }))).toMatchObject({ role: 'viewer' });
    expect(codeOf(await ask('GET', 'api-keys', member.cookie))).toEqual([403, 'missing_role']);
    expect((await ask('DELETE', `people/${member.id}`, owner.cookie)).status).toBe(204);
    expect(codeOf(await ask('GET', 'api-keys', member.cookie))).toEqual([401, 'invalid_key']);
    expect((await ask('GET', 'auth/session', member.cookie)).status).toBe(401);
    expect(storage.views.open(accounts).get(member.id)).toBeUndefined();
  });

  it('keep an owner', async () => {
    const lone = await makeOrganization(storage.log, true);
    const owner = await somebody(lone, 'owner');
    expect(codeOf(await ask('DELETE', `people/${owner.id}`, owner.cookie))).toEqual([400, 'last_owner']);
    expect(codeOf(await ask('PATCH', `people/${owner.id}`, owner.cookie, { role: 'member' }))).toEqual([400, 'last_owner']);
  });

  it('leave their organization, and no other, unless nobody would own it', async () => {
    const lone = await makeOrganization(storage.log, false);
    const [owner, viewer] = [await somebody(lone, 'owner'), await somebody(lone, 'viewer')];
    await app.get(People).join(await invited(org, 'viewer'), { accountId: viewer.id, email: viewer.email, sessionId: '' });
    const leave = (cookie: string, organization: string): Promise<Answer> =>
      send(url, { method: 'DELETE', path: '/api/people/me', headers: { cookie, 'x-organization-id': organization } });
    expect(codeOf(await leave(owner.cookie, lone))).toEqual([400, 'last_owner']);
    expect(codeOf(await leave(owner.cookie, org))).toEqual([403, 'no_organization']);
    expect((await leave(viewer.cookie, lone)).status).toBe(204);
    expect(codeOf(await leave(viewer.cookie, lone))).toEqual([403, 'no_organization']);
    expect(jsonOf(await ask('GET', 'auth/session', viewer.cookie)).organizations).toEqual([expect.objectContaining({ id: org })]);
    expect((await audited(lone)).at(-1)).toMatchObject({ did: 'person.removed', by: { id: viewer.id, name: viewer.email } });
    const { secret } = await makeKey(storage.log, lone);
    await storage.views.open(apiKeys).caughtUp();
    expect(codeOf(await send(url, { method: 'DELETE', path: '/api/people/me', headers: { 'x-api-key': secret } }))).toEqual([
      403,
      'missing_scope',
    ]);
  });

  it('leave on the page of their account, which says why where they may not', async () => {
    const lone = await makeOrganization(storage.log, true);
    const [owner, member] = [await somebody(lone, 'owner'), await somebody(lone, 'member')];
    const leave = ({ cookie }: Somebody, organization: string): Promise<Answer> =>
      send(url, {
        method: 'POST',
        path: `/account/leave/${organization}`,
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: '',
      });
    expect((await send(url, { path: '/account', headers: { cookie: owner.cookie } })).text).toContain(`action="/account/leave/${lone}"`);
    const refused = await leave(owner, lone);
    expect([refused.status, refused.text.includes('Make somebody else an owner first')]).toEqual([400, true]);
    const asked = async (): Promise<number> => (await recorded(peopleCommands)).length;
    const before = await asked();
    for (const foreign of [org, 'org_nobody', 'x'.repeat(9000)]) expect((await leave(member, foreign)).status).toBe(404);
    expect(await asked()).toBe(before);
    expect((await leave(member, lone)).status).toBe(303);
    expect((await ask('GET', 'auth/session', member.cookie)).status).toBe(401);
    expect((await accept(await invited(org, 'viewer'), member.email)).status).toBe(200);
  });

  it.each([
    ['owner', 201, 201],
    ['member', 403, 403],
  ] as const)('as %s give a key the scope admin: %d, and on the page %d; any other scope as either', async (role, api, page) => {
    const { cookie } = await somebody(org, role);
    const make = (...scopes: readonly string[]): Promise<Answer> => ask('POST', 'api-keys', cookie, { name: 'k', scopes });
    const form = (...scopes: readonly string[]): Promise<Answer> =>
      send(url, {
        method: 'POST',
        path: '/keys',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: `name=k&${scopes.map((scope) => `scope=${scope}`).join('&')}`,
      });
    expect([(await make('write', 'admin')).status, (await form('admin')).status]).toEqual([api, page]);
    expect([(await make('read', 'write')).status, (await form('write')).status]).toEqual([201, 201]);
    expect((await send(url, { path: '/keys', headers: { cookie } })).text.includes('value="admin"')).toBe(api === 201);
    await eventually(() => expect(app.get(InFlight).bodyBytes).toBe(0));
  });

  it('change things on pages within the rate of their organization', async () => {
    const slow = await makeOrganization(storage.log, true);
    const { cookie } = await somebody(slow, 'owner');
    await storage.log.append([
      entry(organizations, { ...storage.views.open(organizations).get(slow)!, limits: { key_requests_per_s: 1 } }),
    ]);
    await storage.views.open(organizations).caughtUp();
    const post = (): Promise<Answer> =>
      send(url, {
        method: 'POST',
        path: '/keys',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'name=',
      });
    const statuses: number[] = [];
    for (let at = 0; at < 13; at++) statuses.push((await post()).status);
    expect(statuses.slice(9)).toEqual([400, 400, 429, 429]);
    expect((await send(url, { path: '/keys', headers: { cookie } })).status).toBe(200);
  });

  it('leave nothing behind of sessions and keys that have ended, and all of what has not', async () => {
    const [gone, stays] = [await somebody(org, 'viewer'), await somebody(org, 'viewer')];
    const its = ({ id }: Somebody): string[] =>
      Array.from(storage.views.open(sessions).scan(''), ([, session]) => session).flatMap(({ accountId, sessionId }) =>
        accountId === id ? sessionId : [],
      );
    const [[ended], [open]] = [its(gone), its(stays)];
    const { key } = await makeKey(storage.log, org);
    const use = { usedMs: nowMs, address: '' };
    await app.get(People).remove(org, gone.id, operator);
    await storage.log.append([
      ...[ended!, open!, 'ses_nobody'].map((sessionId) => entry(sessionUses, { sessionId, ...use })),
      ...[key.keyId, 'key_nobody'].map((keyId) => entry(keyUses, { keyId, ...use })),
    ]);
    await Promise.all([sessionUses, keyUses].map((topic) => storage.views.open<unknown>(topic).caughtUp()));
    await app.get(Leftovers).clear();
    const left = async (topic: AnyTopic, keys: readonly string[]): Promise<string[]> => {
      const view = storage.views.open(topic);
      await view.caughtUp();
      return keys.filter((one) => view.get(one) !== undefined);
    };
    expect(await left(sessions, [ended!, open!])).toEqual([open]);
    expect(await left(sessionUses, [ended!, open!, 'ses_nobody'])).toEqual([open]);
    expect(await left(keyUses, [key.keyId, 'key_nobody'])).toEqual([key.keyId]);
  });

  it('are no business of a key, whatever its scopes', async () => {
    const { secret } = await makeKey(storage.log, org);
    await storage.views.open(accounts).caughtUp();
    const answer = await send(url, { path: '/api/people', headers: { 'x-api-key': secret } });
    expect(codeOf(answer)).toEqual([403, 'missing_scope']);
  });
});

describe('a password', () => {
  it('is changed by who knows it, and ends all other sessions', async () => {
    const { cookie, email } = await somebody(org, 'viewer');
    const change = (text: string, next: string): Promise<Answer> =>
      ask('POST', 'auth/password', cookie, { current_password: text, password: next });
    expect(codeOf(await change('wrong', 'another long one'))).toEqual([401, 'wrong_password']);
    expect(codeOf(await change(password, 'short'))).toEqual([400, 'invalid_body']);
    const answer = await change(password, 'another long one');
    expect([
      answer.status,
      (await ask('GET', 'auth/session', cookie)).status,
      (await ask('GET', 'auth/session', cookieOf(answer))).status,
    ]).toEqual([200, 401, 200]);
    expect((await ask('POST', 'auth/sign-in', undefined, { email, password })).status).toBe(401);
    expect((await ask('POST', 'auth/sign-in', undefined, { email, password: 'another long one' })).status).toBe(200);
  });

  it('is reset by a link, once, within a day, and by the newest link only', async () => {
    const { id, cookie } = await somebody(org, 'viewer');
    const link = async (): Promise<string> => tokenOf(await app.get(People).offerReset(storage.views.open(accounts).get(id)!, operator));
    const reset = (token: string, text = 'another long one'): Promise<Answer> =>
      ask('POST', 'auth/password/reset', undefined, { token, password: text });
    const [older, newer] = [await link(), await link()];
    expect((await ask('GET', 'auth/session', cookie)).status).toBe(200);
    expect(codeOf(await reset(older))).toEqual([404, 'unknown_reset']);
    expect(codeOf(await reset(newer, 'short'))).toEqual([400, 'invalid_body']);
    const answer = await reset(newer);
    expect([
      answer.status,
      (await ask('GET', 'auth/session', cookie)).status,
      (await ask('GET', 'auth/session', cookieOf(answer))).status,
    ]).toEqual([200, 401, 200]);
    expect(codeOf(await reset(newer))).toEqual([404, 'unknown_reset']);
    const late = await link();
    nowMs += resetMs;
    expect(codeOf(await reset(late))).toEqual([404, 'unknown_reset']);
    expect(JSON.stringify(await all())).not.toContain(newer);
  });

  it('is reset by a link that ten use at once at most', async () => {
    const { id } = await somebody(org, 'viewer');
    const people = app.get(People);
    const token = tokenOf(await people.offerReset(app.get(Accounts).get(id)!, operator));
    const tries = Array.from({ length: 12 }, () => outcomeOf(people.resetPassword(token, 'another long one')));
    expect((await Promise.all(tries)).toSorted()).toEqual([
      'done',
      ...Array<string>(2).fill('too_many_sign_ins'),
      ...Array<string>(9).fill('unknown_reset'),
    ]);
  });
});

describe('an organization', () => {
  interface Actors {
    readonly operator: string;
    readonly admin: string;
    readonly owner: Somebody;
  }
  let actors: Actors;
  let mine = '';
  const by = (key: string, method: string, path: string, body?: object): Promise<Answer> =>
    send(url, {
      method,
      path: `/api/${path}`,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  beforeAll(async () => {
    await makeOrganization(storage.log, true, operatorOrgId);
    mine = await makeOrganization(storage.log, false);
    const [first, admin] = [await makeKey(storage.log, operatorOrgId), await makeKey(storage.log, mine)];
    actors = { operator: first.secret, admin: admin.secret, owner: await somebody(mine, 'owner') };
    await Promise.all([organizations, apiKeys].map((topic) => storage.views.open<unknown>(topic).caughtUp()));
  });

  it('without a payment method has keys that get 402, until a key of the operator says otherwise', async () => {
    const { operator: key, admin, owner } = actors;
    expect(codeOf(await by(admin, 'GET', 'monitors'))).toEqual([402, 'payment_required']);
    const pays = { payment_method_on_file: true };
    expect(codeOf(await by(admin, 'PATCH', `organizations/${mine}`, pays))).toEqual([403, 'missing_scope']);
    expect(codeOf(await ask('PATCH', `organizations/${mine}`, owner.cookie, pays))).toEqual([403, 'missing_scope']);
    expect(jsonOf(await by(key, 'PATCH', `organizations/${mine}`, pays))).toMatchObject({ id: mine, ...pays });
    expect((await by(admin, 'GET', 'monitors')).status).toBe(200);
    await by(key, 'PATCH', `organizations/${mine}`, { payment_method_on_file: false });
    expect(codeOf(await by(admin, 'GET', 'monitors'))).toEqual([402, 'payment_required']);
    await by(key, 'PATCH', `organizations/${mine}`, pays);
    expect(codeOf(await by(key, 'PATCH', 'organizations/org_nobody', pays))).toEqual([404, 'unknown_organization']);
  });

  it('is renamed by an owner, and never by one of another', async () => {
    const { operator: key, owner } = actors;
    const member = await somebody(mine, 'member');
    const rename = (cookie: string, id: string): Promise<Answer> => ask('PATCH', `organizations/${id}`, cookie, { name: ' Plant 7 ' });
    expect(codeOf(await rename(member.cookie, mine))).toEqual([403, 'missing_role']);
    expect(jsonOf(await rename(owner.cookie, mine))).toMatchObject({ id: mine, name: 'Plant 7' });
    const foreign = await rename(owner.cookie, org);
    expect([codeOf(foreign), bytes(foreign)]).toEqual([[404, 'unknown_organization'], bytes(await rename(owner.cookie, 'org_nobody'))]);
    expect(jsonOf(await ask('GET', 'organizations', owner.cookie))).toMatchObject([{ id: mine, name: 'Plant 7' }]);
    const every = (await by(key, 'GET', 'organizations')).text;
    expect([every.includes(mine), every.includes(org)]).toEqual([true, true]);
    expect(codeOf(await ask('PATCH', `organizations/${mine}`, owner.cookie, { name: '' }))).toEqual([400, 'invalid_body']);
  });

  it('is deleted by an owner, and never by one of another; then nobody is let in', async () => {
    const { operator: key } = actors;
    const gone = await makeOrganization(storage.log, true);
    const [its, owner, member] = [await makeKey(storage.log, gone), await somebody(gone, 'owner'), await somebody(gone, 'member')];
    await Promise.all([organizations, apiKeys].map((topic) => storage.views.open<unknown>(topic).caughtUp()));
    expect(codeOf(await ask('DELETE', `organizations/${gone}`, member.cookie))).toEqual([403, 'missing_role']);
    expect(codeOf(await by(its.secret, 'DELETE', `organizations/${gone}`))).toEqual([403, 'missing_scope']);
    const foreign = await ask('DELETE', `organizations/${gone}`, actors.owner.cookie);
    expect([codeOf(foreign), bytes(foreign)]).toEqual([
      [404, 'unknown_organization'],
      bytes(await ask('DELETE', 'organizations/org_nobody', actors.owner.cookie)),
    ]);
    expect(codeOf(await by(key, 'DELETE', `organizations/${operatorOrgId}`))).toEqual([400, 'operator_organization']);
    expect((await ask('DELETE', `organizations/${gone}`, owner.cookie)).status).toBe(204);
    await eventually(async () => {
      expect(codeOf(await by(its.secret, 'GET', 'monitors'))).toEqual([401, 'invalid_key']);
      expect(codeOf(await ask('GET', 'auth/session', owner.cookie))).toEqual([401, 'not_signed_in']);
    });
    expect((await by(key, 'GET', 'organizations')).text).not.toContain(gone);
    expect(codeOf(await by(key, 'PATCH', `organizations/${gone}`, { name: 'again' }))).toEqual([404, 'unknown_organization']);
    expect(await audited('')).toContainEqual(expect.objectContaining({ did: 'organization.deleted', about: gone }));
  });

  it('can enforce the scopes read and write', async () => {
    const { operator: key, owner } = actors;
    await by(key, 'PATCH', `organizations/${mine}`, { payment_method_on_file: true });
    const [reader, writer] = [await makeKey(storage.log, mine, ['read']), await makeKey(storage.log, mine, ['write'])];
    await storage.views.open(apiKeys).caughtUp();
    const define = (secret: string): Promise<Answer> =>
      by(secret, 'POST', 'monitors', { source_id: '*', metric: 'm', threshold: { max: 1 } });
    expect([(await by(writer.secret, 'GET', 'alerts')).status, (await define(reader.secret)).status]).toEqual([200, 201]);
    expect(jsonOf(await ask('PATCH', `organizations/${mine}`, owner.cookie, { enforce_read_scope: true }))).toMatchObject({
      enforce_read_scope: true,
    });
    expect(codeOf(await by(writer.secret, 'GET', 'alerts'))).toEqual([403, 'missing_scope']);
    expect((await by(reader.secret, 'GET', 'alerts')).status).toBe(200);
    expect([codeOf(await define(reader.secret)), (await define(writer.secret)).status]).toEqual([[403, 'missing_scope'], 201]);
    for (const [method, path] of [
      ['PATCH', 'monitors/mon_1'],
      ['DELETE', 'monitors/mon_1'],
      ['POST', 'alerts/alert_1/acknowledge'],
      ['POST', 'alerts/alert_1/silence'],
    ] as const)
      expect([path, codeOf(await by(reader.secret, method, path))]).toEqual([path, [403, 'missing_scope']]);
    expect((await ask('GET', 'alerts', owner.cookie)).status).toBe(200);
  });

  it('shows what was changed in it, newest first and in pages, and nothing of another', async () => {
    const { admin, owner } = actors;
    type Page = {
      readonly entries: readonly { readonly id: string; readonly did: string; readonly text: string }[];
      readonly next: string | null;
    };
    const page = async (query: string): Promise<Page> => JSON.parse((await by(admin, 'GET', `audit${query}`)).text) as Page;
    const newest = (await audited(mine)).at(-1)!.id;
    const whole = await eventually(async () => {
      const its = await page('');
      expect(its.entries.map(({ id }) => id)).toContain(newest);
      return its;
    });
    expect([whole.next, whole.entries.map(({ did }) => did)]).toEqual([
      null,
      expect.arrayContaining(['organization.changed', 'invitation.created', 'person.joined']),
    ]);
    expect(whole.entries.map(({ text }) => text)).toContain('payment method on file: yes');
    const pages: unknown[] = [];
    for (let next: string | null = ''; next !== null;) {
      const some: Page = await page(`?limit=2${next && `&before=${encodeURIComponent(next)}`}`);
      pages.push(...some.entries);
      next = some.next;
    }
    expect(pages).toEqual(whole.entries);
    expect(JSON.parse((await ask('GET', 'audit', owner.cookie)).text)).toEqual(whole);
    const stranger = await somebody(other, 'owner');
    await eventually(async () => expect(jsonOf(await ask('GET', 'audit', stranger.cookie)).entries).not.toEqual([]));
    const ids = new Set(whole.entries.map(({ id }) => id));
    const theirs = JSON.parse((await ask('GET', 'audit', stranger.cookie)).text) as Page;
    expect(theirs.entries.filter(({ id }) => ids.has(id))).toEqual([]);
    const behindForeign = await ask('GET', `audit?before=${encodeURIComponent(whole.entries[0]!.id)}`, stranger.cookie);
    expect(behindForeign.text).toBe('{"entries":[],"next":null}');
    const viewer = await somebody(mine, 'viewer');
    expect(codeOf(await ask('GET', 'audit', viewer.cookie))).toEqual([403, 'missing_role']);
    expect(codeOf(await by(admin, 'GET', 'audit?limit=0'))).toEqual([400, 'invalid_limit']);
  });
});

it('what becomes of an account is told to each organization of its person, from when they belong to it', async () => {
  const [mine, theirs] = [await makeOrganization(storage.log, true), await makeOrganization(storage.log, true)];
  const [owner, stranger] = [await somebody(mine, 'owner'), await somebody(theirs, 'owner')];
  const told = async (cookie: string): Promise<unknown[]> =>
    jsonOf(await ask('GET', 'audit', cookie))
      .entries.filter(({ about }) => about === owner.id)
      .map(({ did, by }) => [did, by.name]);
  const people = app.get(People);
  const account = app.get(Accounts).get(owner.id)!;
  await people.setPassword(account, 'another horse battery');
  await people.resetPassword(tokenOf(await people.offerReset(account, operator)), password);
  const mineTold = [
    ['password.reset', owner.email],
    ['password.reset_offered', 'operator'],
    ['password.changed', owner.email],
    ['person.joined', owner.email],
  ];
  const cookie = cookieOf(await ask('POST', 'auth/sign-in', undefined, { email: owner.email, password }));
  await eventually(async () => expect(await told(cookie)).toEqual(mineTold));
  nowMs++;
  await people.join(await invited(theirs, 'viewer'), { accountId: owner.id, email: owner.email, sessionId: '' });
  await people.enter({ issuer: 'https://id.example', subject: owner.id, email: owner.email, isVerified: true });
  await eventually(async () =>
    expect(await told(stranger.cookie)).toEqual([
      ['account.bound', owner.email],
      ['person.joined', owner.email],
    ]),
  );
  await ask('DELETE', `people/${owner.id}`, stranger.cookie);
  await eventually(async () =>
    expect(await told(stranger.cookie)).toEqual([
      ['person.removed', stranger.email],
      ['person.joined', owner.email],
    ]),
  );
});

it('everything that people change is told, in words, with who has done it', async () => {
  const org3 = await makeOrganization(storage.log, true);
  const [owner, member] = [await somebody(org3, 'owner'), await somebody(org3, 'member')];
  await ask('PATCH', `people/${member.id}`, owner.cookie, { role: 'viewer' });
  await ask('DELETE', `people/${member.id}`, owner.cookie);
  const told = (await audited(org3)).map(({ did, text, by, about }) => [did, text, by.name, about.slice(0, 4)]);
  expect(told).toEqual([
    ['invitation.created', 'whoever has the link as owner', 'operator', 'inv_'],
    ['person.joined', `${owner.email} as owner`, owner.email, 'acc_'],
    ['invitation.created', 'whoever has the link as member', 'operator', 'inv_'],
    ['person.joined', `${member.email} as member`, member.email, 'acc_'],
    ['person.changed', `${member.email} from member to viewer`, owner.email, 'acc_'],
    ['person.removed', `${member.email}, who was viewer; the account has ended`, owner.email, 'acc_'],
  ]);
  expect((await audited(org)).some(({ text }) => text.includes(owner.email))).toBe(false);
});

it('a claim names the public address, whatever the request says, and has expired after 15 minutes', async () => {
  const answer = await send(url, {
    method: 'POST',
    path: '/api/auth/claim',
    headers: { 'content-type': 'application/json', host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    body: '{"name":"pump"}',
  });
  const claim = JSON.parse(answer.text) as Record<'device_code' | 'user_code' | 'verification_url', string>;
  expect(claim.verification_url).toBe(`http://telemetry.example.com/claim?code=${claim.user_code}`);
  nowMs += claimLifetimeMs;
  const polled = await ask('GET', `auth/claim/${claim.device_code}`);
  expect([polled.status, JSON.parse(polled.text)]).toEqual([200, { status: 'expired' }]);
});

it('of wrong codes that are sent at once five are looked up, and a right one among them is not counted', async () => {
  const claims = app.get(Claims);
  const { userCode } = await claims.start({ name: 'pump', address: '192.0.2.1', scopes: ['write'], sources: [] });
  const approver = { person: { accountId: 'acc_guesser', email: '', sessionId: '' }, address: '192.0.2.2' };
  const codes = [userCode, ...Array<string>(20).fill('BBBB-BBBB')];
  const found = await Promise.allSettled(codes.map((code) => claims.find(code, approver)));
  const words = found.map((one) => (one.status === 'fulfilled' ? one.value.userCode : (one.reason as TelemetryError).code));
  expect(words).toEqual([userCode, ...Array<string>(5).fill('unknown_claim'), ...Array<string>(15).fill('too_many_wrong_codes')]);
});
