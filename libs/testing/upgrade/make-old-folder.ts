import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deadLettersOf as lettersOf, entry } from '#log';
import { operatorOrgId } from '#model';
import { onFolder, type Running } from '#runtime';
import { organizations, points } from '#topics';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { Visitor } from '../api/visitor.js';
import { eventually } from '../eventually.js';
import { ApiClient } from '../http/client.js';
import { send } from '../http/send.js';
import { makeKey, makeOrganization } from '../make-keys.js';
import { makePeopleIn, people } from '../make-people.js';
import { startEmbedded } from '../start-embedded.js';
import { answersOf, deadLettersOf, oldFolders, settled, type Asked, type OldAnswers } from './old-folders.js';

/**
 * `npm run old-folder` makes two data folders of this version for the versions to come, with what they answer beside them: one of a server that keeps
 * everything and was stopped, and one of a server that forgets and was killed. A folder that is there stays as it is.
 */
const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as { readonly version: string };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const beginMs = Date.UTC(2026, 0, 1);
const days = 20;
const endMs = beginMs + days * dayMs;
const forgetting = { keepLogMs: dayMs, keepPointsMs: 4 * dayMs, keep1mMs: 8 * dayMs };
const json = { 'content-type': 'application/json' };
const org = { own: operatorOrgId, other: 'org_harbour' } as const;
const window = `start=${new Date(beginMs - dayMs).toISOString()}&end=${new Date(endMs + dayMs).toISOString()}`;

const reads = ['press-1', 'press-2', 'boiler'].flatMap((source) => [
  `/v1/sources/${source}`,
  `/v1/sources/${source}/metrics`,
  `/v1/sources/${source}/metrics/latest`,
  `/v1/sources/${source}/metrics/query?${window}&interval=raw&tags=1`,
  ...['1m', '1h', '1d'].map((interval) => `/v1/sources/${source}/metrics/query?${window}&interval=${interval}`),
  `/v1/sources/${source}/logs?${window}`,
]);
const lists = ['api-keys', 'monitors', 'alerts', 'alert-targets', 'audit'].map((list) => `/api/${list}`);
const paths = {
  own: ['/v1/sources', '/v1/fleet/health', `/v1/fleet/metrics?metric=heat&${window}&interval=1d`, ...reads, ...lists, '/api/organizations'],
  other: ['/v1/sources', `/v1/sources/press-1/logs?${window}`, `/v1/sources/press-1/metrics/query?${window}&interval=1h`, ...lists],
  owner: ['/api/people', '/api/invitations'],
} as const;

class Maker {
  readonly dir = mkdtempSync(join(tmpdir(), 'headwater-made-'));
  #nowMs = beginMs;
  #server!: Running;
  #keys!: Record<keyof typeof org, string>;

  constructor(private readonly forgets: boolean) {}

  async make(): Promise<OldAnswers> {
    this.#keys = await this.#organizations();
    await this.#start();
    await this.#days(days - 2);
    await this.#watch();
    await this.#manage();
    await this.#delete();
    await this.#server.crash();
    await this.#poison();
    await this.#start();
    await this.#days(1);
    await this.#stop();
    await onFolder(({ rebuild }) => rebuild(this.dir, projectorsOf));
    await this.#start();
    await this.#days(1);
    await settled(this.#server);
    const answers = await this.#answers();
    if (this.forgets) await this.#server.crash();
    else await this.#server.stop();
    return answers;
  }

  #organizations(): Promise<Record<keyof typeof org, string>> {
    return onFolder(async ({ openStorage }) => {
      const storage = await openStorage(this.dir, { clock: () => this.#nowMs });
      for (const orgId of Object.values(org)) await makeOrganization(storage.log, true, orgId);
      const limits = { points_per_s: 5000, points_per_s_per_key: 500 };
      const limited = {
        orgId: org.other,
        name: 'harbour',
        paymentMethodOnFile: true,
        createdMs: beginMs,
        limits,
        enforceReadScope: true,
        deletedMs: null,
      };
      await storage.log.append([entry(organizations, limited)]);
      await makePeopleIn(storage.log, org.own, org.other);
      const keys = { own: (await makeKey(storage.log, org.own)).secret, other: (await makeKey(storage.log, org.other)).secret };
      await storage.close();
      return keys;
    });
  }

  async #start(): Promise<void> {
    this.#server = await startEmbedded({
      dataDir: this.dir,
      clock: () => this.#nowMs,
      checkpointMs: 50,
      ...(this.forgets && forgetting),
    });
  }

  async #stop(): Promise<void> {
    await settled(this.#server);
    await this.#server.stop();
  }

  #client(of: keyof typeof org): ApiClient {
    const { url } = this.#server;
    return new ApiClient(() => ({ api: url, ingest: url, app: url }), this.#keys[of]);
  }

  /** Changes something; the first answer is that of who knows what the change is about. */
  #change<T>(method: string, path: string, body?: object): Promise<T> {
    return eventually(async () => {
      const asked = { method, path, ...(body && { headers: json, body: JSON.stringify(body) }) };
      const { status, text } = await this.#client('own').ask(asked);
      if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`);
      return (text === '' ? undefined : JSON.parse(text)) as T;
    });
  }

  /** Days on which two organizations send points and events every six hours; late ones too, and some twice. */
  async #days(count: number): Promise<void> {
    for (let part = 0; part < 4 * count; part++) {
      this.#nowMs += 6 * hourMs;
      const at = (minutes: number): number => this.#nowMs - minutes * 60_000;
      const heat = (minutes: number): object => ({
        metric: 'heat',
        timestamp: at(minutes),
        value: ((this.#nowMs / hourMs) % 37) + minutes / 3,
      });
      await this.#client('own').accepted({ source_id: 'press-1', points: [heat(90), heat(5), heat(5), heat(0)] });
      const cores = [0, 1].map((core) => ({ metric: 'cpu', timestamp: at(1), value: core + part / 8, tags: { core: `${core}`, é: 'ü' } }));
      await this.#client('own').accepted({
        source_id: 'press-2',
        points: [...cores, { metric: 'late', timestamp: at(7 * 1440), value: part }],
      });
      const door = {
        class: 'event',
        metric: 'door',
        timestamp: at(2),
        value: part % 2 ? 'open' : { by: 'me', n: [1.0, null] },
        tags: { side: 'left' },
      };
      await this.#client('own').accepted({ source_id: 'boiler', points: [door, door, { metric: 'heat', timestamp: at(3), value: -part }] });
      await this.#client('other').accepted({
        source_id: 'press-1',
        points: [heat(0), { class: 'event', metric: 'night', timestamp: at(0), value: 'ü' }],
      });
      await settled(this.#server);
    }
  }

  /** Alerts that are open, acknowledged, silenced and resolved. */
  async #watch(): Promise<void> {
    const post = (value: number): Promise<void> =>
      this.#client('own').accepted({
        source_id: 'press-1',
        points: [
          { metric: 'heat', value },
          { metric: 'load', value },
          { metric: 'hum', value },
        ],
      });
    await post(1);
    await settled(this.#server);
    for (const metric of ['heat', 'load', 'hum']) {
      const threshold = { max: 80, clear: 75, message: 'too much' };
      await this.#change('POST', '/api/monitors', { name: metric, source_id: 'press-1', metric, threshold });
    }
    await this.#change('POST', '/api/monitors', { name: 'any', source_id: '*', metric: 'never', threshold: { min: 0 } });
    await settled(this.#server);
    this.#nowMs += 1000;
    await post(90);
    const open = await eventually(async () => {
      const { alerts } = await this.#client('own').json<{ alerts: readonly { alert_id: string; metric: string }[] }>(
        '/api/alerts?status=open',
      );
      if (alerts.length < 3) throw new Error('not all monitors fire');
      return Object.fromEntries(alerts.map(({ metric, alert_id: id }) => [metric, id]));
    });
    await this.#change('POST', `/api/alerts/${open['heat']}/acknowledge`);
    await this.#change('POST', `/api/alerts/${open['load']}/silence`, { until_ms: this.#nowMs + dayMs });
    this.#nowMs += 1000;
    await this.#client('own').accepted({ source_id: 'press-1', points: [{ metric: 'hum', value: 5 }] });
    await settled(this.#server);
  }

  async #manage(): Promise<void> {
    const target = { kind: 'webhook', name: 'ops', url: 'https://hooks.invalid/0123456789abcdef' };
    const { id } = await this.#change<{ id: string }>('POST', '/api/alert-targets', target);
    await this.#change('PATCH', `/api/alert-targets/${id}`, { paused: true });
    await this.#change('POST', '/api/api-keys', { name: 'line', scopes: ['write'], sources: ['press-1', 'line-a.*'] });
    const gone = await this.#change<{ id: string }>('POST', '/api/api-keys', { name: 'gone', scopes: ['read'] });
    await this.#change('DELETE', `/api/api-keys/${gone.id}`);
    const owner = new Visitor((ask) => send(this.#server.url, ask), people.owner);
    const body = JSON.stringify({ role: 'viewer', email: 'ada@example.com' });
    await owner.ask({ method: 'POST', path: '/api/invitations', headers: json, body });
    await settled(this.#server);
  }

  /** A source and a metric, of which more comes later. */
  async #delete(): Promise<void> {
    await this.#change('DELETE', '/v1/sources/boiler');
    await this.#change('DELETE', '/v1/sources/press-2/metrics/late');
    await settled(this.#server);
  }

  /** Records that no processor can read, and one that another version has parked. */
  #poison(): Promise<void> {
    return onFolder(async ({ openStorage }) => {
      const storage = await openStorage(this.dir, { clock: () => this.#nowMs });
      for (const key of ['org_harbour/bad-1', 'org_harbour/bad-2'])
        await storage.log.appendBytes(points.name, key, Buffer.from('rubbish'), {});
      const headers = { topic: points.name, partition: '0', offset: '0', group: 'series', reason: 'why not' };
      await storage.log.appendBytes(lettersOf(points.name), 'org_harbour/bad-0', Buffer.from('rubbish'), headers);
      await storage.close();
    });
  }

  async #answers(): Promise<OldAnswers> {
    const ask = async (orgId: string, by: Asked['by'], its: readonly string[]): Promise<Asked> => ({
      orgId,
      by,
      answers: await answersOf(this.#server, by, its),
    });
    const asked = [
      await ask(org.own, people.owner, paths.owner),
      await ask(org.own, this.#keys.own, paths.own),
      await ask(org.other, this.#keys.other, paths.other),
    ];
    return { atMs: this.#nowMs, deadLetters: await deadLettersOf(this.#server), asked };
  }
}

for (const [end, forgets] of [
  ['stopped', false],
  ['killed', true],
] as const) {
  const name = `${version}-${end}`;
  const file = join(oldFolders, `${name}.tar.gz`);
  if (existsSync(file)) continue;
  const maker = new Maker(forgets);
  const answers = await maker.make();
  execFileSync('tar', ['czf', file, '--owner=0', '--group=0', '-C', maker.dir, '.']);
  writeFileSync(join(oldFolders, `${name}.answers.json`), `${JSON.stringify(answers)}\n`);
}
