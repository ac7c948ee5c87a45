import { createRequire } from 'node:module';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { itIf } from '../api/stage.js';
import { chromium, Page, type Look } from '../foreign/chromium.js';
import { eventually } from '../eventually.js';
import { send } from '../http/send.js';
import { Receiver } from '../receiver.js';
import { password, Town } from './town.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Where to keep a picture of each page, for people; nowhere when it is not set. */
const pictures = process.env['PAGE_PICTURES'];

const looks: Readonly<Record<string, Look>> = {
  light: { width: 1280, height: 800, isDark: false },
  dark: { width: 1280, height: 800, isDark: true },
  narrow: { width: 360, height: 740, isDark: false },
};

interface Flaw {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const withChromium = itIf(chromium !== undefined);
let town: Town;
let page: Page;

beforeAll(async () => {
  if (!chromium) return;
  town = await Town.open();
  page = await Page.open(`${town.url}/sign-in`);
});
afterAll(async () => {
  await page?.close();
  await town?.close();
});

const go = (path: string): Promise<void> => page.go(town.url + path);
const text = (): Promise<string> => page.run('() => document.body.innerText', null) as Promise<string>;
const place = (): Promise<string> => page.run('() => location.pathname + location.search', null) as Promise<string>;
/** Fills in the fields of the page by their names, and sends the form that the last one stands in. */
const submit = (fields: Readonly<Record<string, string>>): Promise<void> =>
  page.leads(() =>
    page.run(
      `(fields) => {
        let form;
        for (const [name, value] of Object.entries(fields)) {
          const field = document.querySelector('main [name="' + name + '"]');
          field.value = value;
          form = field.form;
        }
        form.requestSubmit();
      }`,
      fields,
    ),
  );
const signIn = async (email: string): Promise<void> => {
  await page.forget();
  await go('/sign-in');
  await submit({ email, password });
};
const signOut = (): Promise<void> =>
  page.leads(() => page.run(`() => document.querySelector('form[action="/sign-out"]').requestSubmit()`, null));

const press = (selector: string): Promise<void> => page.leads(() => page.run('(one) => document.querySelector(one).click()', selector));

/** Looks at the page that is shown, in every way that people may, and finds nothing wrong. */
async function finds(name: string): Promise<void> {
  for (const [look, how] of Object.entries(looks)) {
    await page.look(how);
    if (pictures) {
      mkdirSync(pictures, { recursive: true });
      writeFileSync(join(pictures, `${name}-${look}.png`), await page.screenshot());
    }
    await page.run(`() => { ${axe} }`, null);
    const { violations } = (await page.run('() => axe.run(document)', null)) as { violations: Flaw[] };
    const told = violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}: ${failureSummary}`),
    );
    expect([name, look, told]).toEqual([name, look, []]);
    // Nothing sticks out. Only tables may be scrolled sideways, and not where that would hide most of them, and their buttons.
    const frames = look === 'narrow' ? 'html, pre, .scroll' : 'html, pre';
    const tooWide = await page.run(
      `(frames) => [...document.querySelectorAll(frames)].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 200))`,
      frames,
    );
    expect([name, look, tooWide]).toEqual([name, look, []]);
  }
  await page.look(looks['light']!);
  // Errors that a page was asked for on purpose are told here too.
  expect(page.complaints.filter((one) => !one.startsWith('Failed to load resource'))).toEqual([]);
  expect(page.requests.filter((url) => !url.startsWith(`${town.url}/`) && url !== 'about:blank')).toEqual([]);
}

describe('the pages, in a browser (needs Chromium)', () => {
  withChromium('sign people in, and go on to the page that they wanted', async () => {
    await go('/sources/press-7?last=6h');
    expect(await place()).toBe('/sign-in?next=%2Fsources%2Fpress-7%3Flast%3D6h');
    await finds('sign-in');
    await submit({ email: 'ada@example.com', password: 'wrong' });
    expect(await text()).toContain('the two do not belong together');
    await finds('sign-in-refused');
    await submit({ email: 'ada@example.com', password });
    expect(await place()).toBe('/sources/press-7?last=6h');
    await signOut();
    expect(await place()).toBe('/sign-in');
    await go('/forgot');
    await submit({ email: 'ada@example.com' });
    await finds('forgot-mailed');
    await go('/forgot');
    await finds('forgot');
    await go('/sign-in?next=//evil.example/');
    await submit({ email: 'vic@example.com', password });
    expect(await place()).toBe('/');
  });

  withChromium('list sources, a page at a time, and find them', async () => {
    await signIn('vic@example.com');
    expect(await text()).toMatch(/63 sources, 0 online/);
    await finds('sources');
    await page.leads(() => page.run(`() => document.querySelector('a[rel=next]').click()`, null));
    expect(await text()).toContain('sensor-59');
    await submit({ q: 'PRESS' });
    expect(await page.run(`() => [...document.querySelectorAll('tbody th')].map((cell) => cell.innerText)`, null)).toEqual(['press-7']);
    await submit({ q: '<b>' });
    expect(await text()).toContain('No source fits');
    await finds('sources-none');
  });

  withChromium('show what a source measures, and what it tells', async () => {
    await signIn('vic@example.com');
    await go('/sources/press-7');
    expect(await page.run(`() => document.querySelectorAll('svg[role=img] path.line').length`, null)).toBe(3);
    await finds('source');
    await go('/sources/press-7?last=1h&end=2020-01-01T00:00Z');
    expect(await text()).toContain('No points in this window.');
    await finds('source-past');
    await page.leads(() => page.run(`() => [...document.querySelectorAll('a')].find((a) => a.innerText === 'Now').click()`, null));
    await page.run(`() => { for (const one of document.querySelectorAll('details')) one.open = true; }`, null);
    await finds('source-hour');
    await go(`/sources/${'line-a.'.padEnd(256, 'x')}`);
    await finds('source-hostile');
  });

  withChromium('say what to do where there is nothing, and where something is wrong', async () => {
    await signIn('new@example.com');
    expect(await text()).toContain(`curl -sS ${town.url}/ingest`);
    await finds('sources-empty');
    await go('/sources/nobody');
    await finds('source-unknown');
    await go('/?status=neither');
    expect(await text()).toContain('status');
    await go('/errors/invalid_key');
    await finds('error-code');
  });

  withChromium('make keys, which are shown once, and delete them', async () => {
    await signIn('ada@example.com');
    await go('/keys');
    await finds('keys');
    await submit({ name: 'pump-7', sources: 'pump 7, -' });
    expect(await text()).toContain('must be a source id');
    await finds('keys-refused');
    await submit({ name: 'pump-7', sources: 'press-7, line-a.*' });
    const [secret] = /hw_\w{38}/.exec(await text())!;
    await finds('key-new');
    const { status } = await send(town.url, { path: '/v1/sources', headers: { 'x-api-key': secret } });
    expect(status).toBe(200);
    await go('/keys');
    expect(await text()).toContain('press-7, line-a.*');
    expect(await text()).not.toContain(secret);
    const deletion = `[...document.querySelectorAll('form[action$="/delete"]')].at(-1)`;
    await page.leads(() => page.run(`() => ${deletion}.requestSubmit()`, null));
    expect((await send(town.url, { path: '/v1/sources', headers: { 'x-api-key': secret } })).status).toBe(401);
    await go('/audit');
    expect(await text()).toMatch(/ada@example\.com\s+key\.deleted pump-7[^]*key\.created pump-7/);
    await finds('audit');
  });

  withChromium('invite people, who join with an account of their own', async () => {
    await signIn('ada@example.com');
    await go('/people');
    await submit({ email: 'eve@example.com' });
    const [link] = /http\S+\/join\/[\w-]{43}/.exec(await text())!;
    await finds('invited');
    await go('/people');
    await finds('people');
    await page.leads(() => page.run(`() => document.querySelector('form[action$="/remove"]').requestSubmit()`, null));
    expect(await text()).toContain('Make somebody else an owner first');
    await page.forget();
    await page.go(link);
    await finds('join');
    await submit({ password: 'aaaaaaaaaaaaa' });
    expect(await text()).toContain('this is among the first that anybody would try');
    await submit({ password });
    expect(await place()).toBe('/');
    expect(await text()).toContain('63 sources');
    await page.go(link);
    expect(await text()).toContain('Ask for another link');
    await finds('join-over');
  });

  withChromium('show alerts, on charts and in a list, and let people say that they have seen them', async () => {
    await signIn('ada@example.com');
    await go('/alerts');
    expect(await text()).toContain('No alert is open.');
    await finds('alerts-none');
    await town.watch({
      source_id: 'greenhouse',
      metric: 'air.temperature',
      threshold: { max: 30, severity: 'critical', message: 'Too hot' },
    });
    await town.send({ source_id: 'greenhouse', points: [{ metric: 'air.temperature', value: 35 }] });
    await eventually(async () => {
      await go('/sources/greenhouse?last=1h');
      expect(await page.run(`() => document.querySelectorAll('svg .span.critical').length`, null)).toBe(1);
    });
    await finds('source-alert');
    await go('/?q=green');
    await finds('sources-alert');
    await go('/alerts');
    expect(await text()).toContain('air.temperature: 35, above 30');
    await finds('alerts');
    await page.leads(() => page.run(`() => document.querySelector('form[action$="/acknowledge"]').requestSubmit()`, null));
    expect(await text()).toContain('seen by ada@example.com');
    await submit({ for: '8 hours' });
    expect(await text()).toContain('silent until');
  });

  withChromium('watch a metric, which is tried on the points that are stored before', async () => {
    await signIn('ada@example.com');
    await go('/sources/press-7');
    await press('a[aria-label="Watch machine.temperature"]');
    expect(await place()).toBe('/monitors/new?source_id=press-7&metric=machine.temperature');
    await finds('monitor-new');
    await page.run(
      `() => { document.querySelector('[name=max]').value = '75'; document.querySelector('[name=clear_max]').value = '74'; }`,
      null,
    );
    await press('button[value="24h"]');
    expect(await text()).toMatch(/It would have fired \d+ times in the last 24 hours/);
    expect(Number(await page.run(`() => document.querySelectorAll('#trial svg .span.warning').length`, null))).toBeGreaterThan(0);
    expect(await page.run(`() => document.querySelectorAll('#trial svg .bound').length`, null)).toBe(1);
    await finds('monitor-tried');
    await submit({ min: '90' });
    expect(await text()).toContain('Let min be less than max.');
    await finds('monitor-refused');
    await submit({ min: '', name: 'Spindle', timeout_seconds: '600', message: 'Look at the <coolant>' });
    expect(await place()).toBe('/monitors');
    await go('/monitors?source_id=press-7');
    expect(await text()).toMatch(/press-7\s+machine\.temperature Spindle\s+above 75; when not heard for 10 minutes/);
    await finds('monitors');
    await press('a[aria-label="Change the monitor of Spindle"]');
    expect(await page.run(`() => document.querySelector('[name=clear_max]').value`, null)).toBe('74');
    await press('button[value="7d"]');
    expect(await text()).toContain('in the last 7 days');
    await finds('monitor-changed');
    await town.watch({ source_id: 'press-7', metric: 'machine.temperature', threshold: { max: 90 } });
    await submit({ max: '76', clear_max: '', timeout_seconds: '' });
    expect(await text()).toContain('Somebody has changed this monitor since you opened it.');
    await submit({ max: '76' });
    expect(await text()).toMatch(/above 76\s/);
    const deletion = `[...document.querySelectorAll('form[action$="/delete"]')].at(-1)`;
    await page.leads(() => page.run(`() => ${deletion}.requestSubmit()`, null));
    await go('/monitors?source_id=press-7');
    expect(await text()).toContain('No monitor yet');
    await finds('monitors-none');
  });

  withChromium('try a monitor of every source on one of them', async () => {
    await signIn('ada@example.com');
    await go(`/monitors/${await town.watch({ source_id: '*', metric: 'machine.temperature', threshold: { max: 75 } })}`);
    await press('button[value="24h"]');
    expect(await text()).toContain('Fill in the source to try it on.');
    await page.run(`() => { document.querySelector('[name=try_on]').value = 'press-7'; }`, null);
    await press('button[value="24h"]');
    expect(await text()).toMatch(/It would have fired \d+ times in the last 24 hours, on press-7/);
    await finds('monitor-tried-on');
    await submit({ max: '90' });
    expect(await text()).toMatch(/above 90\s/);
  });

  withChromium('say where alerts are told, and what became of it', async () => {
    const receiver = await Receiver.open();
    await signIn('ada@example.com');
    await go('/targets');
    await finds('targets-none');
    await submit({ kind: 'webhook', to: 'ftp://example.com', name: 'on call' });
    expect(await text()).toContain('begins with https:// or http://');
    await finds('targets-refused');
    await submit({ kind: 'webhook', to: `${receiver.url}/a/rather/secret/place` });
    const [secret] = /whsec_\S+/.exec(await text())!;
    await finds('target-secret');
    await press('main a.button');
    await press('form[action$="/test"] button');
    expect(await text()).toMatch(/delivered\s+a sample\s+2\d\d/);
    expect(receiver.received).toHaveLength(1);
    await press('form[action$="/test"] button');
    expect(await text()).toContain('Test a target once in 5 seconds.');
    await finds('target');
    await page.leads(() => page.run(`() => document.querySelector('form[action$="/secret"]').requestSubmit()`, null));
    expect(/whsec_\S+/.exec(await text())![0]).not.toBe(secret);
    expect(await text()).toContain('the one before signs them too');
    await finds('target-secret-rotated');
    await press('main a.button');
    await submit({ name: 'pager <b>', severity: 'critical' });
    expect(await text()).toContain('pager <b>');
    await press('form[action$="/pause"] button');
    expect(await text()).toContain('What fires while it is paused is never told.');
    await finds('target-paused');
    await go('/targets');
    expect(await text()).toMatch(/pager <b>\s+webhook http\S+lace\s+critical\s+paused\s+delivered/);
    expect(await text()).not.toContain('rather');
    expect(await text()).not.toContain(secret);
    await finds('targets');
    await press('main th a');
    await press('form[action$="/pause"] button');
    expect(await text()).not.toContain('paused');
    await page.leads(() => page.run(`() => document.querySelector('form[action$="/delete"]').requestSubmit()`, null));
    expect(await text()).toContain('Nobody is told of alerts yet');
    await receiver.close();
  });

  withChromium('ask a person whether a device may have a key', async () => {
    await signIn('ada@example.com');
    const asked = await send(town.url, {
      method: 'POST',
      path: '/api/auth/claim',
      headers: { 'content-type': 'application/json' },
      body: '{"name":"<b>pump</b>"}',
    });
    const { user_code: code, verification_url: url, device_code: device } = JSON.parse(asked.text) as Record<string, string>;
    await go('/claim');
    await finds('claim-code');
    await submit({ code: 'BCDF-BCDF' });
    expect(await place()).toContain('/claim?code=');
    await finds('claim-wrong');
    await page.go(url!);
    expect(await text()).toContain(code);
    expect(await text()).toContain('<b>pump</b>');
    await finds('claim');
    await page.leads(() => page.run(`() => document.querySelector('button[value=approve]').click()`, null));
    expect(await text()).toContain('Approved');
    await finds('claim-approved');
    const polled = await send(town.url, { path: `/api/auth/claim/${device}` });
    expect(JSON.parse(polled.text)).toMatchObject({ status: 'approved', org_id: 'Mill', api_key: expect.any(String) });
  });

  withChromium('show what comes while somebody looks, until they are signed out', async () => {
    await signIn('vic@example.com');
    await go('/sources/sensor-00');
    const says = (what: string): Promise<void> => eventually(async () => expect(await text()).toContain(what));
    await says('Live');
    await town.send({
      source_id: 'sensor-00',
      points: [
        { metric: 'spindle.load', value: 42.5 },
        { metric: 'fault', class: 'event', value: 'came just now' },
      ],
    });
    await says('42.5');
    await says('came just now');
    await finds('source-live');
    await page.run(`() => void (document.querySelector('figure[data-part="chart spindle.load"] details').open = true)`, null);
    await town.send({ source_id: 'sensor-00', points: [{ metric: 'fault', class: 'event', value: 'came later' }] });
    await says('came later');
    expect(await page.run(`() => document.querySelectorAll('details[open]').length`, null)).toBe(1);
    await page.run(`() => fetch('/api/auth/sign-out', { method: 'POST' }).then(({ status }) => status)`, null);
    await says('Not live');
  });

  withChromium('keep everybody out of what is not theirs', async () => {
    await signIn('vic@example.com');
    for (const path of ['/keys', '/people']) {
      await go(path);
      expect(await text()).toContain('as viewer you may not do this');
    }
    await finds('forbidden');
  });

  withChromium('let people choose an organization, and end their sessions', async () => {
    await signIn('ada@example.com');
    await go('/account');
    await page.run(`() => { for (const one of document.querySelectorAll('details')) one.open = true; }`, null);
    await finds('account');
    const other = await page.run(`() => document.querySelector('option:not([selected])').value`, null);
    await submit({ organization: String(other) });
    expect(await text()).toContain(String(other));
    await go('/account');
    await page.leads(() => page.run(`() => document.querySelector('form[action$="/end"]').requestSubmit()`, null));
    expect(await place()).toContain('/sign-in');
  });
});
