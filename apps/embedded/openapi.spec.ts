import { describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { globSync, readFileSync } from 'node:fs';
import { Connections, createHttpApp, maxBodyBytes, Organizations, Readiness, type Access, type Operation } from '#edge';
import { RECORD_LOG } from '#log';
import { checkSourceId, errorCases, flawCases, TelemetryError } from '#model';
import { HealthController } from '#runtime';
import { GENERATIONS } from '#stores';
import { makeKey, MemoryLog, MemoryModule } from '#testing';
import { ControlModule } from '../control/control.module.js';
import { CommandSender } from '../gateway/commands/command-sender.js';
import { CommandStates } from '../gateway/commands/command-states.js';
import { CommandsController } from '../gateway/commands/commands.controller.js';
import { StreamsController } from '../gateway/streams/streams.controller.js';
import { STREAM_LIMITS, streamLimits, Streams } from '../gateway/streams/streams.js';
import { errorPage, type ExplainedCode } from '../control/error-page.js';
import { openApi } from '../control/openapi.js';
import { IngressModule } from '../ingress/ingress.module.js';
import { QueryModule } from '../query/query.module.js';
import { openApiDrift, openApiFile, openApiText, operations } from './openapi.js';

const root = new URL('../../../', import.meta.url);
const byRoute = (a: readonly unknown[], b: readonly unknown[]): number => (String(a) < String(b) ? -1 : 1);

/** Methods that follow from others: HEAD from GET, OPTIONS is answered for every path. */
const implied = new Set(['HEAD', 'OPTIONS']);

async function createApp(): Promise<NestFastifyApplication> {
  const stores = [{ provide: GENERATIONS, useValue: { readsAtOnce: 1 } }];
  return createHttpApp({
    module: class Role {},
    imports: [
      MemoryModule.of(new MemoryLog()),
      { module: class Stores {}, global: true, providers: stores, exports: stores },
      IngressModule,
      QueryModule,
      ControlModule,
    ],
    // Of the gateway only what answers plain requests: the rest of it follows a log.
    controllers: [HealthController, CommandsController, StreamsController],
    providers: [CommandSender, CommandStates, Connections, { provide: STREAM_LIMITS, useValue: streamLimits }, Streams],
  });
}

type Route = readonly [method: string, path: string, access: Access];

async function servedRoutes(): Promise<readonly Route[]> {
  const app = await createApp();
  const routes: Route[] = [];
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', ({ method, url, config }) => {
      // The document describes no WebSockets and no pages for people.
      if (config?.upgrade || config?.access?.page) return;
      const path = url.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}');
      for (const name of [method].flat()) routes.push([name, path, config?.access ?? {}]);
    });
  await app.init();
  await app.close();
  return routes;
}

/** Which codes the document names for each operation, with the status of each. */
function documentedProblems(): ReadonlyMap<string, ReadonlySet<string>> {
  const { paths, components } = JSON.parse(openApiText()) as {
    paths: Record<string, Record<string, { operationId: string; responses: Record<string, { $ref?: string }> }>>;
    components: { responses: Record<string, { description: string }> };
  };
  const codes = (ref = ''): readonly string[] =>
    Array.from((components.responses[ref.split('/').at(-1)!]?.description ?? '').matchAll(/^`(\w+)`: /gm), ([, code]) => code!);
  return new Map(
    Object.values(paths)
      .flatMap((path) => Object.values(path))
      .map(({ operationId, responses }) => [
        operationId,
        new Set(Object.entries(responses).flatMap(([status, { $ref }]) => codes($ref).map((code) => `${status} ${code}`))),
      ]),
  );
}

describe('the OpenAPI document', () => {
  it('is what its definitions say; `npm run openapi` writes it', () => {
    expect(openApiDrift(readFileSync(openApiFile, 'utf8'))).toBeUndefined();
  });

  it.each([
    ['"summary": "Get a device"', '"summary": "A device"', 'paths /v1/sources/{source_id} get summary from apps/query/query.api.ts.'],
    ['"/health/live": {', '"/health/alive": {', 'paths /health/alive from apps/control/openapi.ts and the schemas that it uses.'],
    ['"title": "Headwater"', '"title": "H"', 'info title from apps/control/openapi.ts and the schemas that it uses.'],
  ])('with %s as %s it says where, which file to edit and what to run', (text, other, expected) => {
    const drift = openApiDrift(openApiText().replace(text, other));
    expect(drift).toBe(
      `apps/control/openapi.json differs at ${expected} Edit the definition there, not the JSON, and run \`npm run openapi\`.`,
    );
  });

  it('has the routes of the server, each with its access, and no others', async () => {
    const redirects = (method: string, path: string): boolean =>
      path.startsWith('/v1/devices') && (method !== 'GET' || path.endsWith('/stream'));
    const served = (await servedRoutes()).filter(([method, path]) => !implied.has(method) && !redirects(method, path));
    const described = operations
      .filter(({ method }) => method !== 'options')
      .map(({ method, path, access }) => [method.toUpperCase(), path, access] as const);
    const all = (routes: readonly Route[]): string[] => routes.toSorted(byRoute).map((route) => JSON.stringify(route));
    const [there, here] = [all(served), all(described)];
    const say = 'describe it in apps/<role>/<role>.api.ts as it is served, then run `npm run openapi`';
    expect(there.filter((route) => !here.includes(route)).map((route) => `${route} is served: ${say}`)).toEqual([]);
    expect(here.filter((route) => !there.includes(route)).map((route) => `${route} is described and not served so: ${say}`)).toEqual([]);
    expect(here).toHaveLength(there.length);
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

  it('names every error code somewhere, but those of pages and of requests that have no operation', () => {
    const named = new Set(Array.from(openApiText().matchAll(/`(\w+)`: /g), ([, code]) => code));
    const ofPages = [
      'monitor_changed',
      'foreign_identity',
      'unproven_email',
      'not_invited',
      'provider_refused',
      'provider_unavailable',
      'too_many_mails',
    ];
    const unnamed = Object.keys(errorCases).filter((code) => !named.has(code));
    expect(unnamed.toSorted()).toEqual([...ofPages, 'method_not_allowed', 'upgrade_required', 'log_corrupt'].toSorted());
  });

  it('names what a request is refused with before it reaches a handler', async () => {
    const app = await createApp();
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    const organizations = app.get(Organizations);
    const { orgId } = await organizations.create('O', true);
    const log = app.get<MemoryLog>(RECORD_LOG);
    const { secret } = await makeKey(log, orgId);
    // Nobody decides about keys in this test, so nothing waits for it.
    log.failure = new TelemetryError('log_unavailable', 'The log is away.');
    const key = { 'x-api-key': secret };
    const json = { ...key, 'content-type': 'application/json' };
    const situations = [
      { headers: { ...key, 'content-type': 'text/plain' }, payload: 'x' },
      { headers: { ...json, 'content-encoding': 'br' }, payload: 'x' },
      { headers: { ...json, 'content-encoding': 'gzip' }, payload: 'x' },
      { headers: json, payload: Buffer.alloc(maxBodyBytes + 1, ' ') },
      { headers: json, payload: '[' },
      { headers: {} },
    ];
    const documented = documentedProblems();
    const seen = new Set<string>();
    const ask = async ({ id, method, path }: Operation, situation: (typeof situations)[number]): Promise<string[]> => {
      const url = path.replaceAll(/\{\w+\}/g, 'x');
      const upper = method.toUpperCase() as 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
      const answer = await app
        .getHttpAdapter()
        .getInstance()
        // A stream would not end.
        .inject({ method: upper, url, ...situation, headers: { accept: 'application/json', ...situation.headers } });
      if (answer.statusCode < 400) return [];
      const problem = `${answer.statusCode} ${answer.json<{ code: string }>().code}`;
      seen.add(problem);
      // The stores of this test have no methods, so that a read that gets to its handler fails there.
      return documented.get(id)!.has(problem) || problem === '500 internal' ? [] : [`${id}: ${problem}`];
    };
    const missing: string[] = [];
    for (const operation of operations) for (const situation of situations) missing.push(...(await ask(operation, situation)));
    app.get(Readiness).need(new Promise(() => {}));
    for (const operation of operations) missing.push(...(await ask(operation, { headers: key })));
    await app.close();
    expect(missing).toEqual([]);
    expect([...seen]).toEqual(
      expect.arrayContaining([
        '400 invalid_gzip',
        '401 invalid_key',
        '413 body_too_large',
        '415 unsupported_content_type',
        '415 unsupported_content_encoding',
        '503 not_ready',
      ]),
    );
  });

  it('has no code that nothing answers with', () => {
    const sources = globSync('{apps,libs}/**/*.ts', { cwd: root }).filter(
      (path) => !/\.spec\.ts$|^libs\/testing\/|\.api\.ts$|problem-responses|model\/errors\.ts$/.test(path),
    );
    const text = sources.map((path) => readFileSync(new URL(path, root), 'utf8')).join('\n');
    expect(Object.keys(errorCases).filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  });

  it('explains every code that a problem or one of its errors may have', () => {
    const { components } = JSON.parse(openApiText()) as {
      components: { schemas: { Problem: { properties: { errors: { items: { properties: { code: { enum: string[] } } } } } } } };
    };
    const { enum: flaws } = components.schemas.Problem.properties.errors.items.properties.code;
    expect(flaws).toEqual([...Object.keys(flawCases), 'invalid_body']);
    for (const code of [...flaws, ...Object.keys(errorCases)])
      expect(errorPage(code as ExplainedCode)).toMatch(new RegExp(`^${code}\\n=+\\n`));
    expect(errorPage('missing_metric')).toContain('Give the point a metric name.');
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

  it('describes a route of any method, and says which are not for pages of other origins', () => {
    const [first] = operations;
    const described = (['put', 'patch'] as const).map((method) => {
      const { paths } = openApi([{ ...first!, method, access: { cors: false } }], '1.0.0') as {
        paths: Record<string, Record<string, { description: string; responses: Record<string, unknown> }>>;
      };
      const { description, responses } = paths[first!.path]![method]!;
      return [description.endsWith('Browsers keep pages of other origins away.'), Object.hasOwn(responses, '413')];
    });
    expect(described).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  it('is refused when two operations have one route or one id', () => {
    const [first] = operations;
    expect(() => openApi([first!, first!], '1.0.0')).toThrow('ingest is described twice');
    expect(() => openApi([first!, { ...first!, path: '/other' }], '1.0.0')).toThrow('ingest is described twice');
  });
});
