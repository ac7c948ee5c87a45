import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send, type Answer } from '../http/send.js';
import { password, Town } from './town.js';

let town: Town;
/** By who has signed in; nobody has no cookie. */
const cookies: Record<string, string> = { nobody: '' };
let monitor = '';
let target = '';

beforeAll(async () => {
  town = await Town.open();
  monitor = await town.watch({ source_id: 'press-7', metric: 'machine.temperature', name: 'Spindle', threshold: { max: 100 } });
  target = await town.tell({ kind: 'slack', name: 'on call', url: 'http://127.0.0.1:9/nobody' });
  for (const who of ['ada', 'vic', 'new']) {
    const { headers } = await ask('POST', '/sign-in', '', new URLSearchParams({ email: `${who}@example.com`, password }));
    cookies[who] = headers['set-cookie']!.split(';', 1)[0]!;
  }
});
afterAll(() => town?.close());

const ask = (method: string, path: string, cookie: string, form?: URLSearchParams, headers = {}): Promise<Answer> =>
  send(town.url, {
    method,
    path: path.replace(':monitor', monitor).replace(':target', target),
    headers: { cookie, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
    ...(form && { body: form.toString() }),
  });

type Row = readonly [method: 'GET' | 'POST', path: string, viewer: number, stranger: number];
const rows: readonly Row[] = [
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
];

describe('who may see a page, and do what it offers', () => {
  it.each(rows)('%s %s is %d for a viewer and %d for another organization', async (method, path, viewer, stranger) => {
    const form = method === 'POST' ? new URLSearchParams({ name: 'x' }) : undefined;
    expect((await ask(method, path, cookies['vic']!, form)).status).toBe(viewer);
    const other = await ask(method, path, cookies['new']!, form);
    expect([other.status, /Spindle|on call<|nobody/.test(other.text)]).toEqual([stranger, false]);
    const nobody = await ask(method, path, '', form);
    expect([nobody.status, nobody.headers['location']?.split('?', 1)]).toEqual([303, ['/sign-in']]);
  });

  it.each(rows.filter(([method]) => method === 'POST'))('%s %s is no matter of another site', async (method, path) => {
    const form = new URLSearchParams({ name: 'x' });
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      expect((await ask(method, path, cookies['ada']!, form, headers)).status).toBe(403);
  });

  it('nothing of that has changed anything', async () => {
    expect((await ask('GET', '/monitors', cookies['ada']!)).text).toContain('Spindle');
    const { text } = await ask('GET', '/targets/:target', cookies['ada']!);
    expect(text).toContain('on call');
    expect(text).toContain('None yet.');
    expect(text).not.toContain('paused</span>');
  });
});
