import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { watched } from './monitors.js';
import { bytesOf, itWith, known, problem, type Section } from './stage.js';

interface AlertJson {
  readonly alert_id: string;
  readonly status: string;
  readonly source_id: string;
  readonly value: number;
}
interface ListJson {
  readonly alerts: readonly AlertJson[];
  readonly next: string | null;
}

const ask = (client: ApiClient, path: string): Promise<Answer> => client.askApp({ path: `/api/alerts${path}` });
const say = (client: ApiClient, path: string, body?: unknown): Promise<Answer> =>
  client.askApp({
    method: 'POST',
    path: `/api/alerts/${path}`,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
const list = async (client: ApiClient, query: string): Promise<ListJson> => JSON.parse((await ask(client, query)).text) as ListJson;

export const alerts: Section = (stage) => {
  const source = (): string => stage().id('alerted');
  const metrics = ['one', 'two', 'three'];
  const send = (value: number, its = metrics): Promise<void> =>
    stage().own.accepted({ source_id: source(), points: its.map((metric) => ({ metric, value })) });
  const listed = (query: string, attempt: (all: ListJson) => void): Promise<ListJson> =>
    known(async () => {
      const found = await list(stage().own, `?source_id=${source()}${query}`);
      attempt(found);
      return found;
    });
  /** The open one of a metric. */
  let ids: Readonly<Record<string, string>>;

  describe('alerts (decisions §7)', () => {
    beforeAll(async () => {
      await send(1);
      await stage().caughtUp(source());
      for (const metric of metrics) await watched(stage().own, { source_id: source(), metric, threshold: { max: 80, message: 'hot' } });
      await send(90);
      const { alerts: open } = await listed('&status=open', ({ alerts: all }) => expect(all).toHaveLength(3));
      ids = Object.fromEntries(open.map((one) => [(one as AlertJson & { metric: string }).metric, one.alert_id]));
    }, 60_000);

    it('are listed while they are open, and after they have resolved', async () => {
      const { alerts: open } = await listed('&status=open', () => undefined);
      expect(open[0]).toMatchObject({ status: 'open', value: 90, message: 'hot', acknowledged: null, silenced_until_ms: null });
      const since = new Date().toISOString();
      await send(5, ['three']);
      await listed('', ({ alerts: all }) => {
        expect(all.map(({ status }) => status)).toEqual(['resolved', 'open', 'open']);
        expect(all[0]).toMatchObject({ alert_id: ids['three'], value: 5, resolved_by: 'inside' });
      });
      await listed('&status=resolved', ({ alerts: all }) => expect(all.map((one) => one.alert_id)).toEqual([ids['three']]));
      expect((await list(stage().own, `?source_id=${source()}&since=${since}`)).alerts).toHaveLength(1);
      expect((await list(stage().own, `?source_id=${source()}&since=2026-01-31T12:00:00+01:00`)).alerts).toHaveLength(3);
    });

    it('come page by page', async () => {
      const all = await listed('', ({ alerts: its }) => expect(its).toHaveLength(3));
      const paged: AlertJson[] = [];
      for (let next: string | null = ''; next !== null;) {
        const page: ListJson = await list(stage().own, `?source_id=${source()}&limit=2${next && `&after=${next}`}`);
        paged.push(...page.alerts);
        next = page.next;
      }
      expect([paged, all.next]).toEqual([all.alerts, null]);
    });

    it('are acknowledged once, and silenced until a time or until somebody ends it', async () => {
      const one = ids['one']!;
      const first = await say(stage().own, `${one}/acknowledge`);
      const acknowledged = { at_ms: expect.any(Number), by: expect.stringMatching(/\S/) };
      expect([first.status, JSON.parse(first.text)]).toMatchObject([200, { alert_id: one, status: 'open', acknowledged }]);
      expect(JSON.parse((await say(stage().own, `${one}/acknowledge`)).text)).toEqual(JSON.parse(first.text));
      const untilMs = Date.now() + 60_000;
      expect(JSON.parse((await say(stage().own, `${one}/silence`, { until_ms: untilMs })).text)).toMatchObject({
        silenced_until_ms: untilMs,
      });
      await listed('', ({ alerts: all }) =>
        expect(all.find((alert) => alert.alert_id === one)).toMatchObject({ acknowledged, silenced_until_ms: untilMs }),
      );
      expect(JSON.parse((await say(stage().own, `${one}/silence`, { until_ms: 0 })).text)).toMatchObject({ silenced_until_ms: null });
    });

    it('are silenced with the next one of the same condition, which nobody has acknowledged', async () => {
      const untilMs = Date.now() + 60_000;
      for (const [what, body] of [['acknowledge'], ['silence', { until_ms: untilMs }]] as const)
        expect((await say(stage().own, `${ids['two']}/${what}`, body)).status).toBe(200);
      await send(1, ['two']);
      await send(99, ['two']);
      await listed('&status=open', ({ alerts: all }) =>
        expect(all.find(({ value }) => value === 99)).toMatchObject({ acknowledged: null, silenced_until_ms: untilMs }),
      );
    });

    it.each([
      ['?status=closed', 'invalid_parameter'],
      ['?since=yesterday', 'invalid_parameter'],
      ['?limit=0', 'invalid_limit'],
    ])('%s is no list', async (query, code) => {
      problem(await ask(stage().own, query), 400, code);
    });

    it.each([
      ['no time', {}],
      ['a text', { until_ms: 'tomorrow' }],
      ['a time that is too far away', { until_ms: Date.now() + 31 * 86_400_000 }],
    ])('are not silenced until %s', async (_, body) => {
      const { errors } = problem(await say(stage().own, `${ids['one']}/silence`, body), 400, 'invalid_body');
      expect(errors!.map(({ pointer }) => pointer)).toEqual(['/until_ms']);
    });

    it('are those of the sources of a key', async () => {
      const bound = stage().client((await stage().newKey(['write'], stage().own, [source()])).api_key);
      const other = stage().client((await stage().newKey(['write'], stage().own, [stage().id('elsewhere')])).api_key);
      await known(async () =>
        expect((await list(bound, '')).alerts.map((one) => one.source_id)).toEqual(expect.arrayContaining([source()])),
      );
      expect(new Set((await list(bound, '')).alerts.map((one) => one.source_id))).toEqual(new Set([source()]));
      expect((await say(bound, `${ids['one']}/acknowledge`)).status).toBe(200);
      expect([(await list(other, '')).alerts, (await list(other, `?source_id=${source()}`)).alerts]).toEqual([[], []]);
      for (const what of ['acknowledge', 'silence']) {
        const body = what === 'silence' ? { until_ms: 5 } : undefined;
        const [hidden, nobodys] = await Promise.all([ids['one'], 'alert_none'].map((id) => say(other, `${id}/${what}`, body)));
        expect(bytesOf(hidden!)).toEqual(bytesOf(nobodys!));
        problem(hidden!, 404, 'unknown_alert');
      }
    });

    itWith('OTHER_API_KEY')('are nothing to another organization', async () => {
      expect((await ask(stage().other, '?limit=10000')).text).not.toContain(stage().run);
      const [hidden, nobodys] = await Promise.all([ids['one'], 'alert_none'].map((id) => say(stage().other, `${id}/acknowledge`)));
      expect(bytesOf(hidden!)).toEqual(bytesOf(nobodys!));
      problem(hidden!, 404, 'unknown_alert');
    });

    itWith('UNPAID_API_KEY')('are nothing that an organization without a payment method has', async () => {
      problem(await ask(stage().unpaid, ''), 402, 'payment_required');
      problem(await say(stage().unpaid, 'alert_none/acknowledge'), 402, 'payment_required');
    });
  });
};
