import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient, EntryJson } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { bytesOf, itWith, known, problem, type Section } from './stage.js';

const json = { 'content-type': 'application/json' };

export interface MonitorJson {
  readonly id: string;
  readonly source_id: string;
  readonly threshold: object | null;
  readonly defined_ms: number;
}

interface TransitionJson {
  readonly triggered_at_ms: number;
  readonly resolved_at_ms: number | null;
}

const ask = (client: ApiClient, method: string, path: string, body?: unknown): Promise<Answer> =>
  client.askApp({ method, path: `/api/monitors${path}`, ...(body !== undefined && { headers: json, body: JSON.stringify(body) }) });
const read = ({ text }: Answer): MonitorJson => JSON.parse(text) as MonitorJson;
const listed = ({ text }: Answer): readonly string[] =>
  (JSON.parse(text) as { readonly monitors: readonly MonitorJson[] }).monitors.map(({ id }) => id);

/** Defines a monitor, wherever the request goes: a replica may hear of a source a moment after another one. */
export function watched(client: ApiClient, body: object): Promise<MonitorJson> {
  return known(async () => {
    const answer = await ask(client, 'POST', '', body);
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"success":true')]);
    return read(answer);
  });
}

export const monitors: Section = (stage) => {
  const source = (): string => stage().id('watched');
  const silent = (): string => stage().id('falls-silent');
  /** Of the source that is silent while the other rows run. */
  let gone: MonitorJson;
  beforeAll(async () => {
    await stage().own.accepted({ source_id: silent(), points: [{ metric: 'heat', value: 1 }] });
    gone = await watched(stage().own, { source_id: silent(), offline: { timeout_seconds: 10, message: 'gone' } });
    await stage().own.accepted({ source_id: source(), points: [{ metric: 'heat', value: 1 }] });
    await stage().caughtUp(source());
  });
  /** What the log of a source tells of a monitor, oldest first, once it is so many transitions. */
  const transitions = async (sourceId: string, id: string, count: number): Promise<readonly TransitionJson[]> => {
    const of = (entries: readonly EntryJson[]): readonly EntryJson[] => entries.filter(({ value }) => value.includes(id));
    const told = await stage().finds<EntryJson[]>(`/v1/sources/${sourceId}/logs?tail=100`, (entries) =>
      expect(of(entries)).toHaveLength(count),
    );
    return of(told).map(({ value }) => JSON.parse(value) as TransitionJson);
  };

  describe('decisions §7: a monitor', () => {
    it('is defined, read, listed, changed field by field and deleted', async () => {
      const { own } = stage();
      const threshold = { max: 80, clear: 75, for_seconds: 2, message: 'Bearing runs hot' };
      const { id, ...made } = await watched(own, { source_id: source(), metric: 'heat', threshold, offline: {} });
      expect(made).toEqual({
        success: true,
        name: '',
        source_id: source(),
        metric: 'heat',
        threshold: { ...threshold, severity: 'warning' },
        offline: { timeout_seconds: 300, severity: 'warning', message: '' },
        created_ms: expect.any(Number),
        defined_ms: expect.any(Number),
      });
      await known(async () => expect(read(await ask(own, 'GET', `/${id}`))).toMatchObject({ id, source_id: source() }));
      const changed = await ask(own, 'PATCH', `/${id}`, { name: 'Heat', threshold: { max: 90, clear: null }, offline: null });
      expect([changed.status, read(changed)]).toMatchObject([
        200,
        { id, name: 'Heat', threshold: { max: 90, for_seconds: 2 }, offline: null },
      ]);
      const both = await Promise.all([{ name: 'Hot' }, { offline: {} }].map((patch) => ask(own, 'PATCH', `/${id}`, patch)));
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
      await known(async () =>
        expect(read(await ask(own, 'GET', `/${id}`))).toMatchObject({
          name: 'Hot',
          threshold: { max: 90 },
          offline: { timeout_seconds: 300 },
        }),
      );
      const ids = async (query: string): Promise<readonly string[]> => listed(await ask(own, 'GET', query));
      await known(async () => expect([await ids(`?source_id=${source()}`), await ids('?limit=1&source_id=nobody')]).toEqual([[id], []]));
      expect(await ask(own, 'DELETE', `/${id}`)).toMatchObject({ status: 204, text: '' });
      await known(async () => problem(await ask(own, 'GET', `/${id}`), 404, 'unknown_monitor'));
      await known(async () => expect(await ids(`?source_id=${source()}`)).toEqual([]));
    });

    it('takes the place of the one of the same source and metric', async () => {
      const body = { source_id: source(), metric: 'again', threshold: { min: 1, max: 2, clear: { min: 1.2, max: 1.8 } } };
      const first = await watched(stage().own, body);
      const second = await watched(stage().own, { ...body, threshold: { min: 3, severity: 'critical' } });
      expect(second).toMatchObject({ id: first.id, threshold: { min: 3, severity: 'critical' } });
      expect((await watched(stage().own, { ...body, threshold: { min: 3, severity: 'critical' } })).defined_ms).toBe(second.defined_ms);
      expect((await watched(stage().own, { ...body, metric: 'other' })).id).not.toBe(first.id);
    });

    it('fires and resolves, and the log of the source tells it', async () => {
      const { id } = await watched(stage().own, {
        source_id: source(),
        metric: 'fired',
        threshold: { max: 80, clear: 75, message: 'hot' },
      });
      const startMs = Date.now() - 1000;
      await stage().own.accepted({
        source_id: source(),
        points: [85, 78, 70].map((value, at) => ({ metric: 'fired', value, timestamp: startMs + 500 + at })),
      });
      const told = await stage().finds<EntryJson[]>(`/v1/sources/${source()}/logs?tail=100`, (entries) => {
        const its = entries.filter(({ value }) => value.includes(id));
        expect(its.map(({ metric, timestamp_ms: ms }) => [metric, ms - startMs])).toEqual([
          ['alert.triggered', 500],
          ['alert.resolved', 502],
        ]);
      });
      const [triggered, resolved] = told.filter(({ value }) => value.includes(id)).map(({ value }) => JSON.parse(value) as object);
      expect(triggered).toMatchObject({
        monitor_id: id,
        value: 85,
        threshold: { max: 80, clear: 75 },
        message: 'hot',
        resolved_at_ms: null,
      });
      expect(resolved).toMatchObject({ ...triggered, value: 70, resolved_at_ms: startMs + 502, resolved_by: 'inside' });
    }, 60_000);

    it('of every source fires for each of them by itself', async () => {
      const [one, other] = [stage().id('every-one'), stage().id('every-other')];
      const metric = `every.${stage().run}`;
      const { id } = await watched(stage().own, { source_id: '*', metric, threshold: { max: 80, message: 'hot' } });
      const send = (sourceId: string, value: number): Promise<void> =>
        stage().own.accepted({ source_id: sourceId, points: [{ metric, value }] });
      await Promise.all([send(one, 90), send(other, 95)]);
      for (const [sourceId, value] of [
        [one, 90],
        [other, 95],
      ] as const)
        expect(await transitions(sourceId, id, 1)).toMatchObject([{ source_id: sourceId, monitor_id: id, value, resolved_at_ms: null }]);
      await send(other, 5);
      expect(await transitions(other, id, 2)).toMatchObject([{ value: 95 }, { value: 5, resolved_by: 'inside' }]);
      expect(await transitions(one, id, 1)).toMatchObject([{ resolved_at_ms: null }]);
      await ask(stage().own, 'DELETE', `/${id}`);
      expect(await transitions(one, id, 2)).toMatchObject([{ value: 90 }, { resolved_by: 'deleted' }]);
    }, 90_000);

    it('is tried on what is stored, and tells what live evaluation did', async () => {
      const threshold = { max: 80, clear: 75, for_seconds: 0.3 };
      const body = { source_id: source(), metric: 'tried', threshold };
      const { id } = await watched(stage().own, body);
      const startMs = Date.now() - 60_000;
      const values = [1, 85, 86, 90, 95, 85, 78, 70, 90, 1, 90, 91, 92, 93, 50];
      for (let at = 0; at < values.length; at += 4)
        await stage().own.accepted({
          source_id: source(),
          points: values.slice(at, at + 4).map((value, n) => ({ metric: 'tried', value, timestamp: startMs + 100 * (at + n) })),
        });
      const live = await stage().finds<EntryJson[]>(`/v1/sources/${source()}/logs?tail=100`, (entries) =>
        expect(entries.filter(({ value }) => value.includes(id))).toHaveLength(4),
      );
      await stage().caughtUp(source());
      const expected = live
        .filter(({ value }) => value.includes(id))
        .map(({ metric: event, timestamp_ms: ms, value }) => ({
          event,
          timestamp_ms: ms,
          value: (JSON.parse(value) as { value: number }).value,
        }));
      const path = '/backtest';
      await known(async () => {
        const answer = await ask(stage().own, 'POST', path, { ...body, last: '1h' });
        expect([answer.status, JSON.parse(answer.text)]).toEqual([
          200,
          { transitions: expected, points: values.length, evaluated_until_ms: expect.any(Number), truncated: false },
        ]);
      });
      const [start, end] = [3, 9].map((at) => new Date(startMs + 100 * at).toISOString());
      const part = await ask(stage().own, 'POST', path, { ...body, start, end, threshold: { max: 80, clear: 75 } });
      expect(JSON.parse(part.text)).toMatchObject({
        transitions: [{ value: 90 }, { value: 70 }, { value: 90 }],
        points: 6,
        evaluated_until_ms: startMs + 900,
      });
      const every = await ask(stage().own, 'POST', path, { ...body, start, end, source_id: '*', try_on: source() });
      const one = await ask(stage().own, 'POST', path, { ...body, start, end });
      expect([every.status, every.text]).toEqual([200, one.text]);
      problem(await ask(stage().own, 'POST', path, { ...body, source_id: '*', try_on: 'nobody' }), 404, 'unknown_source');
    }, 60_000);

    it.each([
      ['every source', { source_id: '*' }, ['/try_on']],
      ['every source by that name', { try_on: '*' }, ['/try_on']],
      ['silence', { threshold: null, metric: null, offline: {} }, ['/threshold']],
      ['nothing', { threshold: null }, ['/threshold']],
    ])('is not tried on %s', async (_, flawed, pointers) => {
      const body = { source_id: source(), metric: 'tried', threshold: { max: 1 } };
      const { errors } = problem(await ask(stage().own, 'POST', '/backtest', { ...body, ...flawed }), 400, 'invalid_body');
      expect(errors!.map(({ pointer }) => pointer)).toEqual(pointers);
      problem(await ask(stage().own, 'POST', '/backtest', { ...body, last: '0h' }), 400, 'invalid_window');
    });

    itWith('OTHER_API_KEY')('is not tried on what another organization has stored', async () => {
      const body = { metric: 'tried', threshold: { max: 1 } };
      const [foreign, nobodys] = await Promise.all(
        [source(), stage().id('nobodys')].map((sourceId) => ask(stage().other, 'POST', '/backtest', { source_id: sourceId, ...body })),
      );
      expect(bytesOf(foreign!)).toEqual(bytesOf(nobodys!));
      problem(foreign!, 404, 'unknown_source');
      const every = await ask(stage().other, 'POST', '/backtest', { source_id: '*', try_on: source(), ...body });
      problem(every, 404, 'unknown_source');
    });

    it.each([
      ['nothing to watch', { threshold: undefined }, ['/threshold']],
      ['no bound', { threshold: {} }, ['/threshold']],
      ['bounds that are turned', { threshold: { min: 3, max: 2 } }, ['/threshold/min']],
      ['a text for a bound', { threshold: { max: '80' } }, ['/threshold/max']],
      ['null for both bounds', { threshold: { max: null, min: null } }, ['/threshold']],
      ['a band outside of the bounds', { threshold: { max: 3, clear: 4 } }, ['/threshold/clear']],
      ['one number for two bounds', { threshold: { min: 1, max: 3, clear: 2 } }, ['/threshold/clear']],
      ['a severity that there is none', { threshold: { max: 3, severity: 'bad' } }, ['/threshold/severity']],
      ['a message that is too long', { threshold: { max: 3, message: 'é'.repeat(257) } }, ['/threshold/message']],
      ['a threshold about nothing', { metric: undefined }, ['/metric']],
      ['a timeout that is too short', { offline: { timeout_seconds: 1 } }, ['/offline/timeout_seconds']],
      ['an id that no source has', { source_id: 'a b' }, ['/source_id']],
      ['no source', { source_id: undefined }, ['/source_id']],
      [
        'many flaws',
        { name: '\n', metric: '', threshold: { min: 3, max: 2, for_seconds: -1 } },
        ['/name', '/metric', '/threshold/min', '/threshold/for_seconds'],
      ],
    ])('with %s is refused, flaw by flaw', async (_, flawed, pointers) => {
      const body = { source_id: source(), metric: 'heat', threshold: { max: 3 }, ...flawed };
      const { errors } = problem(await ask(stage().own, 'POST', '', body), 400, 'invalid_body');
      expect(errors!.map(({ pointer }) => pointer)).toEqual(pointers);
    });

    it('keeps its source and metric, and its definition when a change is refused', async () => {
      const { id } = await watched(stage().own, { source_id: source(), metric: 'kept', threshold: { max: 3 } });
      for (const [pointer, patch] of [
        ['/source_id', { source_id: '*' }],
        ['/metric', { metric: 'other' }],
        ['/threshold', { threshold: null }],
        ['', []],
      ] as const)
        await known(async () => {
          const { errors } = problem(await ask(stage().own, 'PATCH', `/${id}`, patch), 400, 'invalid_body');
          expect(errors!.map((one) => one.pointer)).toEqual([pointer]);
        });
      expect(read(await ask(stage().own, 'GET', `/${id}`))).toMatchObject({ threshold: { max: 3 } });
    });

    it('with offline is one of ten of its source', async () => {
      const body = (at: number): object => ({ source_id: source(), metric: `offline${at}`, offline: {} });
      const ids = (await Promise.all(Array.from({ length: 10 }, (_, at) => watched(stage().own, body(at))))).map(({ id }) => id);
      const { detail } = problem(await ask(stage().own, 'POST', '', body(10)), 400, 'too_many_monitors');
      expect(detail).toContain('offline');
      const { id } = await watched(stage().own, { ...body(10), threshold: { max: 1e9 }, offline: null });
      problem(await ask(stage().own, 'PATCH', `/${id}`, { offline: {} }), 400, 'too_many_monitors');
      for (const each of [...ids, id]) expect((await ask(stage().own, 'DELETE', `/${each}`)).status).toBe(204);
    }, 60_000);

    it('is of a source that the organization has', async () => {
      const body = { metric: 'm', threshold: { max: 1 } };
      problem(await ask(stage().own, 'POST', '', { source_id: stage().id('nobody'), ...body }), 404, 'unknown_source');
      problem(await ask(stage().own, 'POST', '', { source_id: '', ...body }), 400, 'invalid_body');
    });

    it('is seen by a key that is for its source, and by no other bound key', async () => {
      const { own, newKey } = { own: stage().own, newKey: stage().newKey.bind(stage()) };
      const bound = stage().client((await newKey(['write'], own, [source()])).api_key);
      const other = stage().client((await newKey(['write'], own, [stage().id('elsewhere')])).api_key);
      const body = { metric: 'bound', threshold: { max: 1 } };
      const { id } = await watched(bound, { source_id: source(), ...body });
      const every = await watched(own, { source_id: '*', metric: `bound-${stage().run}`, threshold: { max: 1e9 } });
      const ids = async (client: ApiClient): Promise<readonly string[]> => listed(await ask(client, 'GET', ''));
      await known(async () => expect(await ids(own)).toEqual(expect.arrayContaining([id, every.id])));
      expect(await ids(bound)).not.toContain(every.id);
      expect(await ids(other)).toEqual([]);
      for (const [client, foreign] of [
        [other, id],
        [bound, every.id],
      ] as const)
        for (const [method, patch] of [['GET'], ['PATCH', { name: 'mine' }], ['DELETE']] as const) {
          const [hidden, nobodys] = await Promise.all([foreign, 'mon_none'].map((one) => ask(client, method, `/${one}`, patch)));
          expect(bytesOf(hidden!)).toEqual(bytesOf(nobodys!));
          problem(hidden!, 404, 'unknown_monitor');
        }
      problem(await ask(other, 'POST', '', { source_id: source(), ...body }), 404, 'unknown_source');
      problem(await ask(other, 'POST', '', { source_id: '*', ...body }), 403, 'foreign_source');
      await ask(own, 'DELETE', `/${every.id}`);
    }, 60_000);

    itWith('OTHER_API_KEY')('is nothing to another organization', async () => {
      const { own, other } = stage();
      const { id } = await watched(own, { source_id: source(), metric: 'secret', threshold: { max: 1 } });
      await known(async () => expect((await ask(own, 'GET', `/${id}`)).status).toBe(200));
      for (const [method, patch] of [['GET'], ['PATCH', { name: 'mine' }], ['DELETE']] as const) {
        const [hidden, nobodys] = await Promise.all([id, 'mon_none'].map((one) => ask(other, method, `/${one}`, patch)));
        expect(bytesOf(hidden!)).toEqual(bytesOf(nobodys!));
      }
      expect((await ask(other, 'GET', '?limit=10000')).text).not.toContain(stage().run);
      const body = { metric: 'm', threshold: { max: 1 } };
      const [foreign, nobodys] = await Promise.all(
        [source(), stage().id('nobodys')].map((sourceId) => ask(other, 'POST', '', { source_id: sourceId, ...body })),
      );
      expect(bytesOf(foreign!)).toEqual(bytesOf(nobodys!));
      problem(foreign!, 404, 'unknown_source');
      expect((await ask(own, 'GET', `/${id}`)).status).toBe(200);
    });

    it('fires when a device has been silent, and resolves when it is heard', async () => {
      const [fired] = await transitions(silent(), gone.id, 1);
      expect(fired).toMatchObject({ condition: 'offline', offline: { timeout_seconds: 10 }, message: 'gone', resolved_at_ms: null });
      expect(fired!.triggered_at_ms).toBeGreaterThanOrEqual(gone.defined_ms + 10_000);
      await stage().own.accepted({ source_id: silent(), points: [{ metric: 'heat', value: 2 }] });
      const [, heard] = await transitions(silent(), gone.id, 2);
      expect(heard).toMatchObject({ triggered_at_ms: fired!.triggered_at_ms, resolved_by: 'heard', resolved_at_ms: expect.any(Number) });
      await ask(stage().own, 'DELETE', `/${gone.id}`);
    }, 150_000);

    itWith('UNPAID_API_KEY')('is nothing that an organization without a payment method has', async () => {
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['GET', '/mon_none'],
        ['PATCH', '/mon_none'],
        ['DELETE', '/mon_none'],
      ] as const)
        problem(await ask(stage().unpaid, method, path), 402, 'payment_required');
    });
  });
};
