import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createHttpApp, type Access } from '#edge';
import { checkSourceId, errorCases } from '#model';
import { HealthController } from '#runtime';
import { EVENT_STORE, SERIES_STORE } from '#stores';
import { MemoryLog, MemoryModule } from '#testing';
import { ControlModule } from '../control/control.module.js';
import { openApi } from '../control/openapi.js';
import { IngressModule } from '../ingress/ingress.module.js';
import { QueryModule } from '../query/query.module.js';
import { openApiFile, openApiText, operations } from './openapi.js';

const byRoute = (a: readonly unknown[], b: readonly unknown[]): number => (String(a) < String(b) ? -1 : 1);

/** Methods that follow from others: HEAD from GET, OPTIONS is answered for every path. */
const implied = new Set(['HEAD', 'OPTIONS']);

async function servedRoutes(): Promise<(readonly [method: string, path: string, access: Access])[]> {
  const stores = [SERIES_STORE, EVENT_STORE].map((provide) => ({ provide, useValue: {} }));
  const app = await createHttpApp({
    module: class Role {},
    imports: [
      MemoryModule.of(new MemoryLog()),
      { module: class Stores {}, global: true, providers: stores, exports: stores },
      IngressModule,
      QueryModule,
      ControlModule,
    ],
    controllers: [HealthController],
  });
  const routes: (readonly [string, string, Access])[] = [];
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', ({ method, url, config }) => {
      const path = url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}');
      for (const name of [method].flat()) routes.push([name, path, config?.access ?? {}]);
    });
  await app.init();
  await app.close();
  return routes;
}

describe('the OpenAPI document', () => {
  it('is what its definitions say; `npm run openapi` writes it', () => {
    expect(readFileSync(openApiFile, 'utf8')).toBe(openApiText());
  });

  it('has the routes of the server, each with its access, and no others', async () => {
    const redirects = (method: string, path: string): boolean => path.startsWith('/v1/devices') && method !== 'GET';
    const served = (await servedRoutes()).filter(([method, path]) => !implied.has(method) && !redirects(method, path));
    const described = operations
      .filter(({ method }) => method !== 'options')
      .map(({ method, path, access }) => [method.toUpperCase(), path, access] as const);
    expect(described.toSorted(byRoute)).toEqual(served.toSorted(byRoute));
  });

  it('has every parameter of each path', () => {
    for (const { path, params } of operations) {
      expect([path, Object.keys(params?.shape ?? {})]).toEqual([path, Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name)]);
    }
  });

  it('has nothing behind a reference that is not there', () => {
    const text = openApiText();
    const { components } = JSON.parse(text) as { components: Record<'schemas' | 'responses', object> };
    const named = (['schemas', 'responses'] as const).flatMap((kind) => Object.keys(components[kind]).map((name) => `${kind}/${name}`));
    const referred = Array.from(text.matchAll(/"\$ref": "#\/components\/([^"]+)"/g), ([, name]) => name);
    expect(new Set(referred)).toEqual(new Set(named));
    expect(text).not.toContain('$defs');
  });

  it('names every error code somewhere, but those of requests that have no operation', () => {
    const named = new Set(Array.from(openApiText().matchAll(/`(\w+)`: /g), ([, code]) => code));
    expect(Object.keys(errorCases).filter((code) => !named.has(code))).toEqual(['method_not_allowed', 'log_corrupt']);
  });

  it('has the pattern of a source id that the server checks', () => {
    const [, pattern] = /"pattern": ("\^\[A-Za-z0-9\]\[[^"]+")/.exec(openApiText())!;
    const shape = new RegExp(JSON.parse(pattern!) as string);
    const isSourceId = (id: string): boolean => {
      try {
        return checkSourceId(id) === id;
      } catch {
        return false;
      }
    };
    const ids = ['a', '7.b_c:d@e+f-1', '', '-a', 'a/b', 'a b', 'é', 'x'.repeat(256), 'x'.repeat(257)];
    expect(ids.map((id) => shape.test(id))).toEqual(ids.map(isSourceId));
  });

  it('is refused when two operations have one route or one id', () => {
    const [first] = operations;
    expect(() => openApi([first!, first!], '1.0.0')).toThrow('ingest is described twice');
    expect(() => openApi([first!, { ...first!, path: '/other' }], '1.0.0')).toThrow('ingest is described twice');
  });
});
