import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Get, Param } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp } from '#edge';
import { TelemetryError } from '#model';
import { MemoryLog, MemoryModule } from '#testing';
import { DocsController } from '../docs.controller.js';
import { AssetsController } from './assets.controller.js';
import { assetUrl } from './assets.js';
import { html, type Html } from './html.js';
import { layout } from './layout.js';
import { Pages } from './pages.js';
import { Redirect } from './shown.js';

@Pages('try')
class TryController {
  @Get(':what')
  page(@Param('what') what: string): Html | Redirect {
    if (what === 'away') return new Redirect('/keys?a=1');
    if (what === 'broken') throw new Error('secret');
    if (what === 'busy') throw new TelemetryError('over_rate', 'Wait <a moment>.');
    return layout({ title: what, main: html`<h1>${what}</h1>` });
  }
}

let app: NestFastifyApplication;
beforeAll(async () => {
  app = await createHttpApp({
    module: class Role {},
    imports: [MemoryModule.of(new MemoryLog())],
    controllers: [TryController, AssetsController, DocsController],
  });
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
});
afterAll(() => app.close());

const get = (url: string, accept = 'text/html') =>
  app
    .getHttpAdapter()
    .getInstance()
    .inject({ url, headers: { accept, origin: 'https://other.example' } });

const policy =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const guarded = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

describe('a page', () => {
  it('needs nothing from another host, stands in no frame and is read by no page of another origin', async () => {
    const { statusCode, headers, body } = await get('/try/%3Cb%3E');
    expect([statusCode, headers]).toEqual([200, expect.objectContaining(guarded)]);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(body).toContain('<title>&lt;b&gt; · Headwater</title>');
    const addresses = Array.from(body.matchAll(/ (?:href|src|action)="([^"]*)"/g), ([, address]) => address!);
    expect(addresses.length).toBeGreaterThan(2);
    expect(addresses.filter((address) => !/^(\/(?!\/)|#)/.test(address))).toEqual([]);
    expect(body).not.toMatch(/<style|<script(?! src=)| style=| on\w+=/);
  });

  it('is answered in place of an error, with the status of that and no more than it says', async () => {
    const busy = await get('/try/busy');
    expect([busy.statusCode, busy.headers]).toEqual([429, expect.objectContaining({ ...guarded, 'retry-after': '1' })]);
    expect(busy.body).toContain('Wait &lt;a moment&gt;.');
    expect(busy.body).toContain(String(busy.headers['x-request-id']));
    const broken = await get('/try/broken');
    expect(broken.statusCode).toBe(500);
    expect(broken.body).not.toContain('secret');
  });

  it('sends a browser on', async () => {
    const { statusCode, headers } = await get('/try/away');
    expect([statusCode, headers.location, headers['content-security-policy']]).toEqual([303, '/keys?a=1', policy]);
  });
});

describe('a file of the pages', () => {
  it.each([
    ['style.css', 'text/css; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
  ] as const)('%s is kept by browsers for as long as it is the same', async (name, type) => {
    const { statusCode, headers } = await get(assetUrl(name));
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([200, type, 'public, max-age=31536000, immutable']);
    const other = await get(assetUrl(name).replace(/[0-9a-f]{16}/, '0123456789abcdef'));
    expect([other.statusCode, other.headers['cache-control']]).toEqual([200, 'no-store']);
  });

  it.each(['style', '..%2fpages.ts', '__proto__'])('%s is none', async (name) => {
    expect((await get(`/assets/1/${name}`)).statusCode).toBe(404);
  });
});

describe('the page of an error code', () => {
  it('is a page for browsers and plain text for others', async () => {
    const page = await get('/errors/invalid_key');
    expect([page.headers, page.statusCode]).toEqual([expect.objectContaining({ ...guarded, vary: 'accept' }), 200]);
    expect(page.body).toContain('<h1><code>invalid_key</code></h1>');
    const text = await get('/errors/invalid_key', '*/*');
    expect(text.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(text.body).toMatch(/^invalid_key\n===/);
  });
});
