import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RequestMethod } from '@nestjs/common';
import type { Permission } from '#model';
import { PagesModule } from '../../../apps/control/pages/pages.module.js';
import { operationsOfRoles } from '../../../apps/embedded/operations.js';
import { eventually } from '../eventually.js';
import { send, type Answer } from '../http/send.js';
import { password, Town } from './town.js';

let town: Town;
const names = { owner: 'ada', member: 'mel', viewer: 'vic', stranger: 'new' } as const;
type Role = Exclude<keyof typeof names, 'stranger'>;
/** By who has signed in: three of one organization, and a stranger who owns another. */
const cookies = {} as Record<keyof typeof names, string>;
/** Things of the organization, by the name that stands for them in a path. */
const ids: Record<string, string> = {};

const ask = (method: string, path: string, cookie: string, form?: URLSearchParams, headers = {}): Promise<Answer> =>
  send(town.url, {
    method,
    path: withIds(path),
    headers: { cookie, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
    ...(form && { body: form.toString() }),
  });
const withIds = (path: string): string => Object.entries(ids).reduce((so, [name, id]) => so.replace(`:${name}`, id), path);
const json = async (path: string): Promise<unknown> => JSON.parse((await ask('GET', path, cookies.owner, undefined, acting())).text);
/** The owner has two organizations. */
const acting = (): Record<string, string> => (ids['mill'] ? { 'x-organization-id': ids['mill'] } : {});

beforeAll(async () => {
  town = await Town.open();
  for (const [who, name] of Object.entries(names)) {
    const { headers } = await ask('POST', '/sign-in', '', new URLSearchParams({ email: `${name}@example.com`, password }));
    cookies[who as Role] = headers['set-cookie']!.split(';', 1)[0]!;
  }
  type Listed = readonly { readonly id: string; readonly name?: string; readonly email?: string }[];
  const { organizations } = (await json('/api/auth/session')) as { readonly organizations: Listed };
  ids['mill'] = organizations.find(({ name }) => name === 'Mill')!.id;
  ids['monitor'] = await town.watch({ source_id: 'press-7', metric: 'machine.temperature', name: 'Spindle', threshold: { max: 100 } });
  await town.send({ source_id: 'press-7', points: [{ metric: 'machine.temperature', value: 200 }] });
  ids['alert'] = await eventually(
    async () => ((await json('/api/alerts')) as { readonly alerts: readonly { readonly alert_id: string }[] }).alerts[0]!.alert_id,
  );
  // Nobody is told of the alert there.
  ids['target'] = await town.tell({ kind: 'slack', name: 'on call', url: 'http://127.0.0.1:9/nobody' });
  ids['key'] = ((await json('/api/api-keys')) as Listed)[0]!.id;
  ids['session'] = ((await json('/api/auth/sessions')) as Listed)[0]!.id;
  ids['person'] = ((await json('/api/people')) as Listed).find(({ email }) => email === 'vic@example.com')!.id;
  await ask('POST', '/people/invite', cookies.owner, new URLSearchParams({ role: 'viewer' }));
  ids['invitation'] = await eventually(async () => ((await json('/api/invitations')) as Listed)[0]!.id);
});
afterAll(() => town?.close());

type Row = readonly [method: 'GET' | 'POST', path: string, viewer: number, stranger: number];
/** Every page that is for somebody who has signed in. What a stranger may do is done in the other organization, or not at all. */
const rows: readonly Row[] = [
  ['GET', '/', 200, 200],
  ['GET', '/sources/press-7', 200, 404],
  ['GET', '/alerts', 200, 200],
  ['POST', '/alerts/:alert/acknowledge', 403, 404],
  ['POST', '/alerts/:alert/silence', 403, 404],
  ['GET', '/monitors', 200, 200],
  ['GET', '/monitors/new', 403, 200],
  ['GET', '/monitors/new?source_id=press-7&metric=machine.temperature&max=1&try=24h', 403, 404],
  ['GET', '/monitors/new?source_id=*&try_on=press-7&metric=machine.temperature&max=1&try=24h', 403, 404],
  ['GET', '/monitors/:monitor', 403, 404],
  ['POST', '/monitors', 403, 400],
  ['POST', '/monitors/:monitor', 403, 404],
  ['POST', '/monitors/:monitor/delete', 403, 303],
  ['GET', '/targets', 403, 200],
  ['GET', '/targets/:target', 403, 404],
  ['POST', '/targets', 403, 400],
  ['POST', '/targets/:target', 403, 404],
  ['POST', '/targets/:target/pause', 403, 404],
  ['POST', '/targets/:target/secret', 403, 404],
  ['POST', '/targets/:target/test', 403, 404],
  ['POST', '/targets/:target/delete', 403, 303],
  ['GET', '/keys', 403, 200],
  ['POST', '/keys', 403, 400],
  ['POST', '/keys/:key/delete', 403, 303],
  ['GET', '/people', 403, 200],
  ['POST', '/people/invite', 403, 201],
  ['POST', '/people/invitations/:invitation/withdraw', 403, 404],
  ['POST', '/people/:person/role', 403, 404],
  ['POST', '/people/:person/remove', 403, 404],
  ['GET', '/audit', 403, 200],
  ['GET', '/account', 200, 200],
  ['POST', '/account/password', 401, 401],
  ['POST', '/account/sessions/:session/end', 303, 303],
  ['POST', '/account/leave/org_nobody', 404, 404],
  ['POST', '/account/organization', 303, 403],
  ['GET', '/claim', 200, 200],
  ['POST', '/claim', 404, 404],
  ['GET', '/auth/cli?callback=http%3A%2F%2F127.0.0.1%3A9%2F&state=s', 403, 200],
  ['POST', '/auth/cli', 403, 400],
];
/** Pages for anybody. */
const open = [
  'GET /assets/:version/:name',
  'GET /sign-in',
  'POST /sign-in',
  'POST /sign-out',
  'GET /sign-in/openid',
  'GET /sign-in/openid/callback',
  'GET /forgot',
  'POST /forgot',
  'GET /join/:secret',
  'POST /join/:secret',
  'GET /reset/:secret',
  'POST /reset/:secret',
];
const posts = [...rows.map(([method, path]) => `${method} ${path}`), ...open].filter((route) => route.startsWith('POST'));
const form = (): URLSearchParams => new URLSearchParams({ name: 'x', role: 'owner', email: 'x@example.com', organization: ids['mill']! });

/** Every route of the pages, as Nest knows it. */
function pageRoutes(): string[] {
  const pathOf = (on: object): string => (Reflect.getMetadata('path', on) as string).replaceAll(/^\/|\/$/g, '');
  const controllers = Reflect.getMetadata('controllers', PagesModule) as readonly { readonly prototype: object }[];
  return controllers.flatMap((controller) =>
    Object.values(Object.getOwnPropertyDescriptors(controller.prototype))
      .map(({ value }) => value as unknown)
      .filter((value) => typeof value === 'function' && Reflect.hasMetadata('method', value))
      .map((handler) => {
        const method = RequestMethod[Reflect.getMetadata('method', handler as object) as number];
        return `${method} /${[pathOf(controller), pathOf(handler as object)].filter(Boolean).join('/')}`;
      }),
  );
}

describe('who may see a page, and do what it offers', () => {
  it('is said of every page', () => {
    const patterns = pageRoutes().map((route) => ({ route, pattern: new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`) }));
    const said = [...rows.map(([method, path]) => `${method} ${path.split('?')[0]}`), ...open];
    const matching = (one: string): string | undefined =>
      (patterns.find(({ route }) => route === one) ?? patterns.find(({ pattern }) => pattern.test(one)))?.route;
    expect(new Set(said.map(matching))).toEqual(new Set(pageRoutes()));
  });

  it.each(rows)('%s %s is %d for a viewer and %d for another organization', async (method, path, viewer, stranger) => {
    const its = method === 'POST' ? form() : undefined;
    const seen = await ask(method, path, cookies.viewer, its);
    expect(seen.status).toBe(viewer);
    const other = await ask(method, path, cookies.stranger, its);
    expect([other.status, /Spindle|on call<|nobody</.test(other.text)]).toEqual([stranger, false]);
    const nobody = await ask(method, path, '', its);
    expect([nobody.status, nobody.headers['location']?.split('?', 1)]).toEqual([303, ['/sign-in']]);
  });

  it.each(rows.filter(([, path]) => path.startsWith('/people')))('%s %s is 403 for a member', async (method, path) => {
    expect((await ask(method, path, cookies.member, method === 'POST' ? form() : undefined)).status).toBe(403);
  });

  it.each(posts)('%s is no matter of another site', async (route) => {
    const [method, path] = route.split(' ') as [string, string];
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      for (const cookie of [cookies.owner, '']) expect((await ask(method, path, cookie, form(), headers)).status).toBe(403);
  });

  it('nothing of that has changed anything', async () => {
    expect((await ask('GET', '/monitors', cookies.owner)).text).toContain('Spindle');
    const { text } = await ask('GET', '/targets/:target', cookies.owner);
    expect(text).toContain('on call');
    expect(text).toContain('None yet.');
    expect(text).not.toContain('paused</span>');
    const lists = ['/api/api-keys', '/api/people', '/api/auth/sessions', '/api/invitations', '/api/alerts'];
    const texts = await Promise.all(lists.map(async (path) => JSON.stringify(await json(path))));
    expect(['key', 'person', 'session', 'invitation', 'alert'].map((name, at) => texts[at]!.includes(ids[name]!))).toEqual(
      lists.map(() => true),
    );
    expect(texts[4]).toContain('"acknowledged":null');
  });
});

/** Whom each kind of thing is for. */
const allowed: Readonly<Record<Permission, readonly Role[]>> = {
  read: ['owner', 'member', 'viewer'],
  monitors: ['owner', 'member'],
  keys: ['owner', 'member'],
  admin_keys: ['owner'],
  targets: ['owner', 'member'],
  audit: ['owner', 'member'],
  people: ['owner'],
  organization: ['owner'],
  leave: ['owner', 'member', 'viewer'],
};
/** Those who leave do so at last. */
const operations = Object.values(operationsOfRoles)
  .flat()
  .toSorted((a, b) => Number(a.access.may === 'leave') - Number(b.access.may === 'leave'))
  .map(({ method, path, access }) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'x'), access }));
const refusals = ['missing_role', 'no_organization', 'not_signed_in', 'invalid_key', 'cross_site'];
/** Why somebody is not let in; undefined where they are. A stream is not begun. */
async function refusalOf(method: string, path: string, cookie: string, headers = {}): Promise<string | undefined> {
  const { status, text } = await ask(method, path, cookie, undefined, { accept: 'application/json', ...acting(), ...headers });
  const code = status < 400 ? undefined : (JSON.parse(text) as { readonly code: string }).code;
  return refusals.find((one) => one === code);
}

describe('what people may do by the API', () => {
  it.each(operations.flatMap(({ method, path, access: { may } }) => (may ? [[method, path, may] as const] : [])))(
    '%s %s is for whoever may do this: %s',
    async (method, path, may) => {
      for (const role of ['owner', 'member', 'viewer'] as const)
        expect([role, await refusalOf(method, path, cookies[role])]).toEqual([
          role,
          allowed[may].includes(role) ? undefined : 'missing_role',
        ]);
      expect(await refusalOf(method, path, cookies.stranger)).toBe('no_organization');
      expect(await refusalOf(method, path, '')).toBe('invalid_key');
    },
  );

  const changes = operations.filter(({ method, access: { may, cors } }) => method !== 'GET' && (may !== undefined || cors === false));
  it.each(changes.map(({ method, path }) => [method, path] as const))('%s %s is no matter of another site', async (method, path) => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      expect(await refusalOf(method, path, cookies.owner, headers)).toBe('cross_site');
  });
});
