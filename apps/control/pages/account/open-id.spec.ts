import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Accounts, CLOCK, createHttpApp, deciders, operator, Outbound, People } from '#edge';
import { RECORD_LOG, Runner, VIEWS } from '#log';
import { openStorage, type Storage } from '#sqlite';
import {
  IdentityProvider,
  makeAccount,
  makeMember,
  makeOrganization,
  noOutbound,
  NoStoresModule,
  send,
  type Answer,
  type Someone,
} from '#testing';
import { accounts, decisionsGroup } from '#topics';
import { ControlModule } from '../../control.module.js';

const publicUrl = 'http://telemetry.example.com';
const password = 'correct horse battery';
let nowMs = 1_700_000_000_000;
let folder: string;
let storage: Storage;
let runner: Runner;
let provider: IdentityProvider;
let app: NestFastifyApplication;
/** Another replica, and one that knows no provider. */
let second: NestFastifyApplication;
let without: NestFastifyApplication;
let org = '';

async function openApp(outbound: Outbound): Promise<NestFastifyApplication> {
  const values: [symbol | typeof Outbound, unknown][] = [
    [RECORD_LOG, storage.log],
    [VIEWS, storage.views],
    [CLOCK, () => nowMs],
    [Outbound, outbound],
  ];
  const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
  const ports = { module: class Ports {}, global: true, providers, exports: providers };
  const made = await createHttpApp({ module: class Role {}, imports: [ports, NoStoresModule, ControlModule] }, { publicUrl });
  await made.listen(0, '127.0.0.1');
  return made;
}
const outboundTo = (issuer: string): Outbound =>
  new Outbound({
    networks: [],
    server: '',
    from: '',
    provider: { issuer, clientId: IdentityProvider.clientId, clientSecret: IdentityProvider.clientSecret },
    clock: () => nowMs,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-openid-'));
  storage = await openStorage(folder);
  provider = await IdentityProvider.open(`${publicUrl}/sign-in/openid/callback`);
  const outbound = (): Outbound => outboundTo(provider.issuer);
  app = await openApp(outbound());
  second = await openApp(outbound());
  without = await openApp(noOutbound);
  const decider = deciders(storage.log, storage.views, () => nowMs).find(({ group }) => group === decisionsGroup)!;
  runner = new Runner(storage.log, decider, { checkpointMs: 1e6, report: () => {} });
  await runner.start();
  org = await makeOrganization(storage.log, true);
});
afterAll(async () => {
  await Promise.all([app.close(), second.close(), without.close()]);
  await runner.stop();
  await storage.close();
  await provider.close();
  await rm(folder, { recursive: true });
});

/** As much of a browser as follows links: it keeps cookies for each host, and finds our public host at one of the replicas. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  /** Every address that it was at. */
  readonly visited: URL[] = [];

  constructor(public replica = app) {}

  async get(address: string): Promise<Answer> {
    let url = new URL(address, publicUrl);
    for (let hop = 0; hop < 20; hop++) {
      this.visited.push(url);
      const answer = await this.step(url);
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status >= 400 || location === undefined) return answer;
      url = new URL(location, url);
    }
    throw new Error('it goes round in circles');
  }

  /** Asks once, and goes nowhere. */
  async step(url: URL): Promise<Answer> {
    const base = url.origin === publicUrl ? await this.replica.getUrl() : url.origin;
    const jar = this.#jarOf(url);
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const answer = await send(base, { path: url.pathname + url.search, headers: { ...(cookie && { cookie }) } });
    for (const line of answer.headers['set-cookie']?.split(/, (?=[\w.-]+=)/) ?? []) {
      const [name = '', value = ''] = line.split(';', 1)[0]!.split(/=(.*)/s);
      if (value === '' || /Max-Age=0|1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Whom our session says that it is. */
  async who(): Promise<{ readonly account_id: string; readonly email: string; readonly organizations: readonly object[] } | undefined> {
    const { status, text } = await this.step(new URL('/api/auth/session', publicUrl));
    return status === 200 ? JSON.parse(text) : undefined;
  }

  cookie(name: string): string | undefined {
    return this.#jarOf(new URL(publicUrl)).get(name);
  }

  #jarOf({ host }: URL): Map<string, string> {
    let jar = this.#cookies.get(host);
    if (!jar) this.#cookies.set(host, (jar = new Map()));
    return jar;
  }
}

const start = '/sign-in/openid';
async function signedIn(person: Someone, address = start): Promise<{ readonly browser: Browser; readonly answer: Answer }> {
  provider.person = person;
  const browser = new Browser();
  return { browser, answer: await browser.get(address) };
}
let made = 0;
const newPerson = (more: Partial<Someone> = {}): Someone => {
  const sub = `s${++made}`;
  return { sub, email: `${sub}@example.com`, email_verified: true, ...more };
};
async function withAccount(person: Someone): Promise<string> {
  const account = await makeAccount(storage.log, person.email!, password);
  await makeMember(storage.log, org, account, 'viewer');
  await storage.views.open(accounts).until(account.accountId, Boolean, 5000);
  return account.accountId;
}
const signInBy = async (email: string, replica = app): Promise<number> =>
  (
    await send(await replica.getUrl(), {
      method: 'POST',
      path: '/api/auth/sign-in',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
  ).status;

describe('the question to the provider', () => {
  it('is for a code, with PKCE, state and nonce, to come back to the public address whatever the host of the request', async () => {
    const browser = new Browser();
    const { status, headers } = await browser.step(new URL('http://telemetry.example.com/sign-in/openid?next=/keys'));
    const to = new URL(headers['location']!);
    expect([status, to.origin]).toEqual([303, provider.issuer]);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      client_id: IdentityProvider.clientId,
      redirect_uri: `${publicUrl}/sign-in/openid/callback`,
      response_type: 'code',
      scope: 'openid email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect(headers['set-cookie']).toMatch(/^headwater_openid=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const note = Buffer.from(browser.cookie('headwater_openid')!, 'base64url').toString('latin1');
    for (const secret of [to.searchParams.get('state')!, to.searchParams.get('nonce')!, 'verifier']) expect(note).not.toContain(secret);
  });

  it('is offered where there is a provider, and is no route where there is none', async () => {
    const page = (replica: NestFastifyApplication, path: string): Promise<Answer> => new Browser(replica).get(path);
    expect((await page(app, '/sign-in?next=/keys')).text).toContain('href="/sign-in/openid?next=%2Fkeys"');
    expect((await page(without, '/sign-in')).text).not.toContain('openid');
    for (const path of [start, `${start}/callback?code=a&state=b`]) expect((await page(without, path)).status).toBe(404);
  });
});

describe('somebody whom the provider vouches for', () => {
  it('signs in to the account of their address, which is theirs from then on, and has no password any more', async () => {
    const person = newPerson();
    const accountId = await withAccount(person);
    const { browser, answer } = await signedIn({ ...person, email: person.email!.toUpperCase() }, `${start}?next=/account`);
    expect([browser.visited.at(-1)!.href, answer.text.includes('current-password')]).toEqual([`${publicUrl}/account`, false]);
    expect(await browser.who()).toMatchObject({ account_id: accountId, email: person.email });
    expect([browser.cookie('headwater_openid'), await signInBy(person.email!)]).toEqual([undefined, 401]);
    expect(app.get(Accounts).get(accountId)!.identity).toEqual({ issuer: provider.issuer, subject: person.sub });
  });

  it('keeps the account with another address, also that of somebody else, and whoever gets the old address gets nothing', async () => {
    const [person, other] = [newPerson(), newPerson()];
    const [accountId] = [await withAccount(person), await withAccount(other)];
    await signedIn(person);
    for (const email of ['new@example.com', other.email!]) {
      const { browser } = await signedIn({ ...person, email });
      expect((await browser.who())!.account_id).toBe(accountId);
    }
    const { browser, answer } = await signedIn({ ...newPerson(), email: person.email! });
    expect([answer.status, await browser.who()]).toEqual([403, undefined]);
    expect(answer.text).toContain('belongs to somebody else at the provider');
  });

  it.each<[string, Partial<Someone>]>([
    ['not', { email_verified: false }],
    ['not said to be', { email_verified: undefined as unknown as boolean }],
    ['none, and so it', { email: undefined as unknown as string }],
  ])('is refused where the address is %s verified', async (_, more) => {
    const person = newPerson();
    await withAccount(person);
    const { browser, answer } = await signedIn({ ...person, ...more });
    expect([answer.status, await browser.who(), await signInBy(person.email!)]).toEqual([403, undefined, 200]);
    expect(answer.text).toContain('does not say that it is yours');
  });

  it('has no account without an invitation', async () => {
    const { browser, answer } = await signedIn(newPerson());
    expect([answer.status, await browser.who()]).toEqual([403, undefined]);
    expect(answer.text).toContain('Ask an owner of your organization to invite');
  });

  it('joins by an invitation for the address, or by a link', async () => {
    const invite = async (email: string): Promise<string> =>
      new URL((await app.get(People).invite(org, 'member', email, operator)).link).pathname;
    const [named, linked, foreign] = [newPerson(), newPerson(), newPerson()];
    await invite(named.email!);
    const link = await invite('');
    expect((await new Browser().get(link)).text).toContain(`href="/sign-in/openid?next=${encodeURIComponent(link)}"`);
    for (const [person, address] of [
      [named, start],
      [linked, `${start}?next=${link}`],
    ] as const) {
      const { browser } = await signedIn(person, address);
      expect(browser.visited.at(-1)!.pathname).toBe('/');
      expect(await browser.who()).toMatchObject({ email: person.email, organizations: [{ id: org, role: 'member' }] });
      expect(await signInBy(person.email!)).toBe(401);
    }
    for (const used of [link, await invite('somebody@example.com')]) {
      const { browser, answer } = await signedIn(foreign, `${start}?next=${used}`);
      expect([answer.status, await browser.who()]).toEqual([403, undefined]);
    }
  });

  it('who has an account comes to the page of the invitation, to use it or not', async () => {
    const person = newPerson();
    await withAccount(person);
    const other = await makeOrganization(storage.log, true);
    const { pathname } = new URL((await app.get(People).invite(other, 'viewer', '', operator)).link);
    const { browser, answer } = await signedIn(person, `${start}?next=${pathname}`);
    expect([browser.visited.at(-1)!.pathname, answer.status]).toEqual([pathname, 200]);
    expect(answer.text).toContain(`Join as ${person.email}`);
  });

  it('is known whether the provider says the address in the token or when it is asked', async () => {
    const talkative = await IdentityProvider.open(`${publicUrl}/sign-in/openid/callback`, false);
    const replica = await openApp(outboundTo(talkative.issuer));
    const person = newPerson();
    await withAccount(person);
    talkative.person = person;
    const browser = new Browser(replica);
    await browser.get(start);
    expect((await browser.who())!.email).toBe(person.email);
    await replica.close();
    await talkative.close();
  });
});

describe('the answer of the provider', () => {
  let browser: Browser;
  let callback: URL;
  /** A browser on its way back. */
  beforeEach(async () => {
    const person = newPerson();
    await withAccount(person);
    provider.person = person;
    browser = new Browser();
    let url = new URL(start, publicUrl);
    do url = new URL((await browser.step(url)).headers['location']!, url);
    while (url.origin !== publicUrl);
    callback = url;
  });
  const refusedIn = async (other: Browser, url = callback): Promise<unknown> => {
    const answer = await other.step(url);
    return [answer.status, /Sign in once more/.test(answer.text), await other.who()];
  };
  const refused = [403, true, undefined];

  it('counts at any replica', async () => {
    browser.replica = second;
    expect([(await browser.step(callback)).status, (await browser.who()) !== undefined]).toEqual([303, true]);
  });

  it('counts once', async () => {
    const note = browser.cookie('headwater_openid')!;
    await browser.step(callback);
    const again = await send(await app.getUrl(), {
      path: callback.pathname + callback.search,
      headers: { cookie: `headwater_openid=${note}` },
    });
    expect([again.status, again.headers['set-cookie']]).toEqual([403, expect.not.stringContaining('headwater_session')]);
  });

  it('counts in the browser that asked, and in no other', async () => {
    expect(await refusedIn(new Browser())).toEqual(refused);
    const other = new Browser();
    await other.step(new URL(start, publicUrl));
    expect(await refusedIn(other)).toEqual(refused);
  });

  it.each<[string, (url: URL) => void]>([
    ['another state', (url) => url.searchParams.set('state', 'a')],
    ['no state', (url) => url.searchParams.delete('state')],
    ['another code', (url) => url.searchParams.set('code', 'a')],
    ['two states', (url) => url.searchParams.append('state', 'a')],
  ])('with %s is refused', async (_, change) => {
    change(callback);
    expect(await refusedIn(browser, callback)).toEqual(refused);
  });

  it('is refused after ten minutes, though the cookie is still there', async () => {
    nowMs += 600_000;
    expect(await refusedIn(browser)).toEqual(refused);
  });

  it('that says no is told', async () => {
    provider.person = undefined;
    const answer = await new Browser().get(start);
    expect([answer.status, answer.text.includes('access_denied')]).toEqual([403, true]);
  });
});

describe('a provider that is away', () => {
  let replica: NestFastifyApplication;
  let gone: IdentityProvider;
  beforeEach(async () => {
    gone = await IdentityProvider.open(`${publicUrl}/sign-in/openid/callback`);
    replica = await openApp(outboundTo(gone.issuer));
  });
  afterEach(() => replica.close());

  it('is said on the page, and passwords work as ever', async () => {
    const person = newPerson();
    await withAccount(person);
    await gone.close();
    const answer = await new Browser(replica).get(start);
    expect([answer.status, answer.text.includes('the provider cannot be asked'), answer.text.includes('name="password"')]).toEqual([
      503,
      true,
      true,
    ]);
    expect(await signInBy(person.email!, replica)).toBe(200);
  });
});
