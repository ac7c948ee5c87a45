import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp, Readiness, type Clock } from '#edge';
import { entry } from '#log';
import { maxSessions, sessionMs, sessionUseMs, type Account, type Session } from '#model';
import { makeAccount, makeMember, makeOrganization, MemoryLog, MemoryModule, send, type Answer, type Ask, NoStoresModule } from '#testing';
import { accounts, sessions, sessionUses } from '#topics';
import { ControlModule } from '../control.module.js';

const password = 'correct horse battery';
const dayMs = 24 * 3_600_000;
let nowMs = 1_700_000_000_000;

/** The control role on a log in memory, at an address that people reach it by. */
async function openApp(log: MemoryLog, clock: Clock, publicUrl = ''): Promise<{ app: NestFastifyApplication; url: string }> {
  const app = await createHttpApp(
    { module: class Role {}, imports: [MemoryModule.of(log, clock), NoStoresModule, ControlModule] },
    { publicUrl, trustedProxies: ['127.0.0.1'] },
  );
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

const log = new MemoryLog();
let app: NestFastifyApplication;
let url: string;
let secure: NestFastifyApplication;
let secureUrl: string;
let ada: Account;
let bob: Account;
let org = '';
let other = '';
let unpaid = '';

beforeAll(async () => {
  ({ app, url } = await openApp(log, () => nowMs));
  ({ app: secure, url: secureUrl } = await openApp(log, () => nowMs, 'https://telemetry.example.com'));
  org = await makeOrganization(log, true);
  other = await makeOrganization(log, true);
  unpaid = await makeOrganization(log, false);
  ada = await makeAccount(log, 'ada@example.com', password);
  bob = await makeAccount(log, 'bob@example.com', password);
  await makeMember(log, org, ada, 'owner');
  await makeMember(log, unpaid, ada, 'viewer');
  await makeMember(log, other, bob, 'viewer');
});
afterAll(() => Promise.all([app.close(), secure.close()]));
beforeEach(() => void (nowMs += dayMs));

const ask = (what: Ask, base = url): Promise<Answer> => send(base, what);
const json = { 'content-type': 'application/json' };
const signIn = (email: string, text = password, headers: Ask['headers'] = {}, base = url): Promise<Answer> =>
  ask(
    { method: 'POST', path: '/api/auth/sign-in', headers: { ...json, ...headers }, body: JSON.stringify({ email, password: text }) },
    base,
  );
const cookieOf = ({ headers }: Answer): string => headers['set-cookie']!.split(';', 1)[0]!;
const signedIn = async (email = ada.email): Promise<string> => cookieOf(await signIn(email));
const whoami = (cookie: string, base = url): Promise<Answer> => ask({ path: '/api/auth/session', headers: { cookie } }, base);
const bytes = ({ status, text }: Answer): unknown => [status, text.replace(/"request_id":"\w+"/, '')];
const codeOf = ({ status, text }: Answer): unknown => [status, status < 400 ? '' : (JSON.parse(text) as { code: string }).code];

describe('signing in', () => {
  it('makes a session, which the cookie stands for, and which is stored as a digest', async () => {
    const answer = await signIn(' Ada@Example.com');
    expect(answer.headers['set-cookie']).toMatch(/^headwater_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
    const who = JSON.parse(answer.text) as object;
    expect(who).toEqual({
      account_id: ada.accountId,
      email: 'ada@example.com',
      session_id: expect.stringMatching(/^ses_[0-9a-f]{24}$/),
      organizations: [
        { id: org, name: org, role: 'owner', payment_method_on_file: true },
        { id: unpaid, name: unpaid, role: 'viewer', payment_method_on_file: false },
      ],
    });
    expect(JSON.parse((await whoami(cookieOf(answer))).text)).toEqual(who);
    const token = cookieOf(answer).split('=')[1]!;
    expect(JSON.stringify(log.entries)).not.toContain(token);
    expect(JSON.stringify(log.entries)).not.toContain(password);
  });

  it('behind TLS the cookie is for this host and for TLS only, and no other name counts', async () => {
    const answer = await signIn(ada.email, password, {}, secureUrl);
    expect(answer.headers['set-cookie']).toMatch(
      /^__Host-headwater_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect((await whoami(cookieOf(answer), secureUrl)).status).toBe(200);
    expect((await whoami(cookieOf(answer).replace('__Host-', ''), secureUrl)).status).toBe(401);
  });

  it('answers a wrong password and an unknown address alike', async () => {
    const answers = [await signIn(ada.email, 'wrong'), await signIn('nobody@example.com'), await signIn('no address')];
    expect(codeOf(answers[0]!)).toEqual([401, 'wrong_password']);
    for (const answer of answers) {
      expect(bytes(answer)).toEqual(bytes(answers[0]!));
      expect([answer.headers['www-authenticate'], answer.headers['set-cookie']]).toEqual(['Session', undefined]);
    }
  });

  it.each(['{}', '{"email":"a@b.c"}', '{"email":1,"password":"x"}', `{"email":"a@b.c","password":"${'x'.repeat(1025)}"}`])(
    'with %.40s is 400',
    async (text) => {
      expect((await ask({ method: 'POST', path: '/api/auth/sign-in', headers: json, body: text })).status).toBe(400);
    },
  );

  it('with an account that has no password is refused', async () => {
    await log.append([entry(accounts, { ...ada, accountId: 'acc_none', email: 'none@example.com', passwordDigest: '' })]);
    expect(codeOf(await signIn('none@example.com', ''))).toEqual([400, 'invalid_body']);
    expect(codeOf(await signIn('none@example.com', password))).toEqual([401, 'wrong_password']);
  });

  it.each([
    ['another password', 'fay@example.com', 'another'],
    ['a binding, which takes the password away,', 'gus@example.com', ''],
  ])('that %s overtakes makes a session that is over', async (_, email, passwordDigest) => {
    const one = await makeAccount(log, email, password);
    const overtake = log.open(sessions).changes(() => {
      overtake();
      void log.append([entry(accounts, { ...one, passwordDigest })]);
    });
    expect(codeOf(await signIn(email))).toEqual([401, 'not_signed_in']);
  });

  it('ends the session that the browser had', async () => {
    const before = await signedIn();
    const after = cookieOf(await signIn(bob.email, password, { cookie: before }));
    expect([(await whoami(before)).status, (await whoami(after)).status]).toEqual([401, 200]);
  });

  it('is slowed down after ten wrong passwords from one address, and not from another, nor in a browser that is known', async () => {
    const cookie = await signedIn(bob.email);
    const from = (address: string, more: Ask['headers'] = {}): Ask['headers'] => ({ 'x-forwarded-for': address, ...more });
    const wrong = await Promise.all(Array.from({ length: 12 }, () => signIn(bob.email, 'wrong', from('192.0.2.1'))));
    expect(wrong.filter(({ status }) => status === 401)).toHaveLength(10);
    const refused = await signIn(bob.email, password, from('192.0.2.1'));
    expect([codeOf(refused), Number(refused.headers['retry-after'])]).toEqual([[429, 'too_many_sign_ins'], 900]);
    expect((await signIn(bob.email, password, from('192.0.2.2'))).status).toBe(200);
    expect((await signIn(bob.email, password, from('192.0.2.1', { cookie }))).status).toBe(200);
  });
});

it.each([
  ['/keys?a=1', '/keys?a=1'],
  ['/sources/%E2%82%AC', '/sources/%E2%82%AC'],
  ['/sources/\u20AC', '/'],
  ['/sources/\u00E9', '/'],
  ['//evil.example', '/'],
  [`/${'a'.repeat(1024)}`, '/'],
])('who wants %j goes on to %j', async (next, to) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ next, email: ada.email, password }).toString();
  const answer = await ask({ method: 'POST', path: '/sign-in', headers, body });
  expect([answer.status, answer.headers['location']]).toEqual([303, to]);
  const again = await ask({ path: `/sign-in?next=${encodeURIComponent(next)}`, headers: { cookie: cookieOf(answer) } });
  expect([again.status, again.headers['location']]).toEqual([303, to]);
});

describe('before the accounts are read', () => {
  let starting: NestFastifyApplication;
  let at = '';
  beforeAll(async () => {
    ({ app: starting, url: at } = await openApp(log, () => nowMs));
    starting.get(Readiness).need(new Promise(() => {}));
  });
  afterAll(() => starting.close());

  const jsonTo = (path: string, value: object): Ask => ({ method: 'POST', path, headers: json, body: JSON.stringify(value) });
  const form = (path: string, text: string): Ask => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: text,
  });

  it.each<Ask>([
    jsonTo('/api/auth/sign-in', { email: 'ada@example.com', password }),
    jsonTo('/api/auth/password/reset', { token: 'a', password: 'b' }),
    jsonTo('/api/invitations/accept', { token: 'a' }),
    form('/sign-in', `email=ada@example.com&password=${password}`),
    form('/forgot', 'email=ada@example.com'),
    ...['/', '/sign-in', '/account', '/join/a', '/reset/a', '/sign-in/openid'].map((path) => ({ path })),
  ])('$method $path is too early', async (what) => {
    expect((await ask(what, at)).status).toBe(503);
  });

  it('what pages are made of is there', async () => {
    expect((await ask({ path: '/assets/1/style.css' }, at)).status).toBe(200);
  });
});

describe('a session', () => {
  it('is none without a cookie, with a wrong one, and with a key', async () => {
    const answers = await Promise.all(
      ['', 'headwater_session=', 'headwater_session=nonsense', `headwater_session=${'A'.repeat(43)}`].map((cookie) => whoami(cookie)),
    );
    for (const answer of answers) expect([codeOf(answer), bytes(answer)]).toEqual([[401, 'not_signed_in'], bytes(answers[0]!)]);
  });

  it('lasts 30 days from its last use, which is written and told to the browser once a day', async () => {
    const cookie = await signedIn();
    const uses = (): number => log.values(sessionUses).filter(Boolean).length;
    const before = uses();
    expect((await whoami(cookie)).headers['set-cookie']).toBeUndefined();
    nowMs += sessionUseMs;
    expect((await whoami(cookie)).headers['set-cookie']).toContain(`${cookie}; Path=/; Max-Age=2592000`);
    expect((await whoami(cookie)).headers['set-cookie']).toBeUndefined();
    expect(uses()).toBe(before + 1);
    nowMs += sessionMs - 1;
    expect((await whoami(cookie)).status).toBe(200);
    nowMs += sessionMs;
    expect((await whoami(cookie)).status).toBe(401);
  });

  it('ends when it is signed out, everywhere, and the cookie with it; a use that is written late brings nothing back', async () => {
    const cookie = await signedIn();
    const { session_id: sessionId } = JSON.parse((await whoami(cookie)).text) as { session_id: string };
    const gone = await ask({ method: 'POST', path: '/api/auth/sign-out', headers: { cookie } });
    expect([gone.status, gone.headers['set-cookie']]).toEqual([204, expect.stringMatching(/^headwater_session=; Path=\/; Max-Age=0;/)]);
    await log.append([entry(sessionUses, { sessionId, usedMs: nowMs, address: '' })]);
    expect((await whoami(cookie)).status).toBe(401);
    expect((await ask({ method: 'POST', path: '/api/auth/sign-out', headers: { cookie } })).status).toBe(204);
  });

  it('ends with another password', async () => {
    const eve = await makeAccount(log, 'eve@example.com', password);
    const cookie = await signedIn(eve.email);
    await log.append([entry(accounts, { ...eve, passwordDigest: ada.passwordDigest })]);
    expect((await whoami(cookie)).status).toBe(401);
  });

  it('is listed, and ended from another one; those of other people are as if nobody had them', async () => {
    const [here, there, bobs] = [
      await signedIn(),
      cookieOf(await signIn(ada.email, password, { 'user-agent': 'Elsewhere' })),
      await signedIn(bob.email),
    ];
    const list = async (cookie: string): Promise<{ id: string; current: boolean; agent: string }[]> =>
      JSON.parse((await ask({ path: '/api/auth/sessions', headers: { cookie } })).text) as {
        id: string;
        current: boolean;
        agent: string;
      }[];
    const elsewhere = (await list(here)).find(({ agent }) => agent === 'Elsewhere')!;
    expect(elsewhere).toMatchObject({ current: false, created_from: '127.0.0.1', last_used_ms: nowMs, expires_ms: nowMs + sessionMs });
    expect((await list(here)).filter(({ current }) => current)).toHaveLength(1);
    expect(JSON.stringify(await list(bobs))).not.toContain(elsewhere.id);
    const end = (id: string, cookie: string): Promise<Answer> =>
      ask({ method: 'DELETE', path: `/api/auth/sessions/${id}`, headers: { cookie } });
    const foreign = await end(elsewhere.id, bobs);
    expect([codeOf(foreign), bytes(foreign)]).toEqual([[404, 'unknown_session'], bytes(await end('ses_nobody', bobs))]);
    expect((await end(elsewhere.id, here)).status).toBe(204);
    expect([(await whoami(there)).status, (await whoami(here)).status]).toEqual([401, 200]);
  });

  it('of fifty is the most an account has: one more ends the one that was used longest ago, and those that are over', async () => {
    const old = Array.from({ length: maxSessions + 5 }, (_, at): Session => {
      const model = log.values(sessions).find((one) => one?.accountId === bob.accountId);
      return { ...model!, sessionId: `ses_${at}`, createdMs: nowMs - at };
    });
    await log.append(old.map((one) => entry(sessions, one)));
    const cookie = await signedIn(bob.email);
    const listed = JSON.parse((await ask({ path: '/api/auth/sessions', headers: { cookie } })).text) as { id: string }[];
    expect(listed).toHaveLength(maxSessions);
    expect(listed.map(({ id }) => id)).not.toContain(`ses_${maxSessions}`);
  });
});

describe('what comes from a page of another origin', () => {
  const own = 'https://telemetry.example.com';
  it.each<[string, Ask['headers'], number, number]>([
    ['nothing said, as curl', {}, 204, 204],
    ['its own origin', { origin: own }, 403, 204],
    ['the origin of the Host header', { origin: 'http://127.0.0.1', host: '127.0.0.1' }, 204, 403],
    ['another origin', { origin: 'https://evil.example' }, 403, 403],
    ['the same host at another port', { origin: 'http://127.0.0.1:1', host: '127.0.0.1' }, 403, 403],
    ['a page without an origin', { origin: 'null' }, 403, 403],
    ['same-origin', { 'sec-fetch-site': 'same-origin', origin: 'null' }, 204, 204],
    ['the address bar', { 'sec-fetch-site': 'none' }, 204, 204],
    ['the same site', { 'sec-fetch-site': 'same-site', origin: own }, 403, 403],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: own }, 403, 403],
  ])('%s', async (_, headers, plain, configured) => {
    const out = (base: string): Promise<Answer> => ask({ method: 'POST', path: '/api/auth/sign-out', headers: headers! }, base);
    expect([(await out(url)).status, (await out(secureUrl)).status]).toEqual([plain, configured]);
    const cookie = await signedIn();
    const change: Ask = { method: 'DELETE', path: '/api/auth/sessions/ses_nobody', headers: { cookie, ...headers } };
    expect((await ask(change)).status).toBe(plain === 204 ? 404 : 403);
    // The route of keys is for pages of any origin, with a key; a cookie is for ours only.
    const key: Ask = { method: 'DELETE', path: '/api/api-keys/key_nobody', headers: { cookie, 'x-organization-id': unpaid, ...headers } };
    expect(codeOf(await ask(key))).toEqual(plain === 204 ? [403, 'missing_role'] : [403, 'cross_site']);
    expect((await ask({ ...key, headers: { ...headers } })).status).toBe(401);
    expect((await ask({ path: '/api/auth/session', headers: { cookie, ...headers } })).status).toBe(200);
  });
});

describe('a session in place of a key', () => {
  const keys = (cookie: string, organization?: string): Promise<Answer> =>
    ask({ path: '/api/api-keys', headers: { cookie, ...(organization !== undefined && { 'x-organization-id': organization }) } });

  it('acts in the organization that is named, or in the only one', async () => {
    const cookie = await signedIn();
    expect(codeOf(await keys(cookie, org))).toEqual([200, '']);
    expect(codeOf(await keys(cookie))).toEqual([403, 'no_organization']);
    expect(codeOf(await keys(await signedIn(bob.email)))).toEqual([403, 'missing_role']);
  });

  it('does not see the organization of others, which is as one that nobody has', async () => {
    const cookie = await signedIn();
    const answers = [
      await keys(cookie, other),
      await keys(cookie, 'org_nobody'),
      await keys(cookie, ''),
      await keys(cookie, `${org}, ${org}`),
    ];
    for (const answer of answers) expect([codeOf(answer), bytes(answer)]).toEqual([[403, 'no_organization'], bytes(answers[0]!)]);
  });

  it('has no say beside a key', async () => {
    const cookie = await signedIn();
    expect(codeOf(await ask({ path: '/api/api-keys', headers: { cookie, 'x-organization-id': org, 'x-api-key': 'hw_wrong' } }))).toEqual([
      401,
      'invalid_key',
    ]);
  });

  it('is no key for what only a key may do', async () => {
    const cookie = await signedIn();
    expect(codeOf(await ask({ path: '/api/auth/verify-key', headers: { cookie, 'x-organization-id': org } }))).toEqual([
      401,
      'invalid_key',
    ]);
  });
});
