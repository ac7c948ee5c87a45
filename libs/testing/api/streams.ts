import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { SocketClient } from '../http/socket-client.js';
import { EventStream, SocketStream, type Message, type StreamClient } from '../http/stream-client.js';
import { itPeople, itWith, maxRevokeMs, problem, type Section } from './stage.js';

/** A key, or the session of somebody who has signed in. */
interface Credentials {
  readonly key?: string;
  readonly cookie?: string;
}

type How = 'WebSocket' | 'WebSocket with cursors' | 'text/event-stream';
const ways = ['WebSocket', 'WebSocket with cursors', 'text/event-stream'] as const;
const resumable = ['WebSocket with cursors', 'text/event-stream'] as const;
const at = Date.UTC(2026, 0, 2);

export const streams: Section = (stage) => {
  const open: StreamClient[] = [];
  afterEach(() => {
    for (const client of open.splice(0)) client.cut();
  });
  const read = async (
    how: How,
    path: string,
    { cookie, key = cookie === undefined ? stage().own.key : undefined, after }: Credentials & { readonly after?: string | undefined } = {},
  ) => {
    const { api } = stage().urls;
    const query = path.includes('?') ? '&' : '?';
    const target = `/v1/sources/${path}`;
    const cursor = after === undefined ? 'cursor=1' : `after=${after}`;
    const client =
      how === 'text/event-stream'
        ? await EventStream.open(api, target, { key, cookie, lastEventId: after })
        : await SocketStream.open(api, how === 'WebSocket' ? target : `${target}${query}${cursor}`, { key, cookie });
    open.push(client);
    if (client instanceof SocketStream) stage().live.watch(client.socket, target);
    return client;
  };
  const sendPoint = (id: string, metric: string, value: unknown, more: object = {}, by = stage().own): Promise<unknown> =>
    by.accepted({ source_id: id, points: [{ metric, value, timestamp: at, ...more }] });
  /** Resolves once the client gets what is sent: a server does not say when a WebSocket listens. */
  const listening = async (client: StreamClient, id: string, more: object = {}, by = stage().own): Promise<void> => {
    await eventually(async () => {
      await sendPoint(id, 'hello', 1, more, by);
      expect(client.messages).not.toEqual([]);
    });
    client.messages.length = 0;
  };
  const metrics = (client: StreamClient): StreamClient['points'] => client.points.filter(({ metric }) => metric !== 'hello');

  describe('decisions §6: a live stream', () => {
    it.each(ways)('brings the points of a device as they are accepted, in order: %s', async (how) => {
      const id = stage().id(`live-points-${ways.indexOf(how)}`);
      const client = await read(how, `${id}/metrics/stream`);
      await listening(client, id);
      await sendPoint(id, 'a', 1, { tags: { site: 'Ä' } });
      await stage().own.accepted({
        source_id: id,
        points: [
          { metric: 'a', value: -0.5, timestamp: at + 1 },
          { metric: 'a', value: 'no point', class: 'event', timestamp: at },
          { metric: 'a', value: 3, timestamp: at + 3 },
          { metric: 'b', value: 1e21, timestamp: at + 2 },
        ],
      });
      await client.has('all points', () => metrics(client).length >= 4);
      expect(metrics(client)).toEqual([
        { source_id: id, class: 'metric', metric: 'a', value: 1, timestamp: at, tags: { site: 'Ä' } },
        { source_id: id, class: 'metric', metric: 'a', value: -0.5, timestamp: at + 1 },
        { source_id: id, class: 'metric', metric: 'a', value: 3, timestamp: at + 3 },
        { source_id: id, class: 'metric', metric: 'b', value: 1e21, timestamp: at + 2 },
      ]);
      for (const { type, cursor } of client.messages)
        expect([type, cursor === undefined]).toEqual(['telemetry', how !== 'WebSocket with cursors']);
    });

    it.each(ways)('brings events one by one, with values of the type that was sent: %s', async (how) => {
      const id = stage().id(`live-events-${ways.indexOf(how)}`);
      const client = await read(how, `${id}/logs/stream`);
      await listening(client, id, { class: 'event' });
      const values = ['text', '{"a":1}', { a: [1, null] }, null, true, 12.5, ''];
      const points = values.map((value, n) => ({ metric: 'e', class: 'event', value, timestamp: at + n }));
      await stage().own.accepted({ source_id: id, points: [...points, { metric: 'm', value: 1 }] });
      await sendPoint(id, 'tagged', 1, { class: 'event', tags: { a: 'b' } });
      const sent = (): readonly Message[] => client.events.filter(({ metric }) => metric !== 'hello');
      await client.has('all events', () => sent().length > values.length);
      const event = { type: 'event', source_id: id, class: 'event' };
      expect(sent().map(({ cursor, ...rest }) => ({ ...rest, hasCursor: cursor !== undefined }))).toEqual(
        [
          ...values.map((value, n) => ({ ...event, metric: 'e', value, timestamp: at + n })),
          { ...event, metric: 'tagged', value: 1, timestamp: at, tags: { a: 'b' } },
        ].map((one) => ({ ...one, hasCursor: how === 'WebSocket with cursors' })),
      );
    });

    it('brings what a device sends over the channel, whichever gateways the two are connected to', async () => {
      const id = stage().id('live-channel');
      const readers: StreamClient[] = [];
      // Replicas take turns.
      for (const how of [...ways, ...ways]) readers.push(await read(how, `${id}/metrics/stream`));
      for (const reader of readers) await listening(reader, id);
      for (const reader of readers) reader.messages.length = 0;
      const device = await SocketClient.open(stage().urls.ingest, '/ws/device');
      device.send({ type: 'device_auth', api_key: stage().own.key, source_id: id });
      expect(await device.json()).toMatchObject({ type: 'authenticated' });
      for (let n = 0; n < 20; n++) device.send({ type: 'telemetry', points: [{ metric: 'm', value: n, timestamp: at + n }] });
      for (const reader of readers) {
        await reader.has('20 points', () => metrics(reader).length >= 20);
        expect(metrics(reader).map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, n) => n));
      }
      await device.close();
    });

    it('brings a body again that is sent again', async () => {
      const id = stage().id('live-again');
      const reader = await read('WebSocket', `${id}/metrics/stream`);
      await listening(reader, id);
      for (let times = 0; times < 2; times++) await sendPoint(id, 'a', 1);
      await reader.has('the point twice', () => metrics(reader).length >= 2);
      expect(metrics(reader).map(({ value }) => value)).toEqual([1, 1]);
    });

    it.each(ways)('brings only the metrics that are asked for: %s', async (how) => {
      const id = stage().id(`live-filter-${ways.indexOf(how)}`);
      const client = await read(how, `${id}/metrics/stream?metrics=hello,b%5C,c&metrics=%20d`);
      await listening(client, id);
      for (const metric of ['a', 'b,c', 'b', 'd']) await sendPoint(id, metric, 1);
      await client.has('two points', () => metrics(client).length >= 2);
      expect(metrics(client).map(({ metric }) => metric)).toEqual(['b,c', 'd']);
    });

    it.each(ways)('of a device that nobody has, or of another one, stays silent: %s', async (how) => {
      const [id, other] = [stage().id(`live-silent-${ways.indexOf(how)}`), stage().id(`live-other-${ways.indexOf(how)}`)];
      const [silent, loud] = [await read(how, `${id}/metrics/stream`), await read(how, `${other}/metrics/stream`)];
      await listening(loud, other);
      expect([silent.messages, silent.closed]).toEqual([[], undefined]);
      // A plain WebSocket does not say when it listens: from its first point on it does.
      await listening(silent, id);
      for (const [of, metric] of [
        [other, 'a'],
        [id, 'last'],
      ] as const)
        await sendPoint(of, metric, 1);
      await silent.has('its own', () => metrics(silent).length > 0);
      await loud.has('its own', () => metrics(loud).length > 0);
      expect(metrics(silent).map(({ metric }) => metric)).toEqual(['last']);
    });

    itWith('OTHER_API_KEY').each(ways)('of another organization stays silent (needs OTHER_API_KEY): %s', async (how) => {
      const id = stage().id(`live-tenant-${ways.indexOf(how)}`);
      const [foreign, own] = [await read(how, `${id}/metrics/stream`, { key: stage().other.key }), await read(how, `${id}/metrics/stream`)];
      await listening(foreign, id, {}, stage().other);
      await listening(own, id);
      await sendPoint(id, 'a', 1);
      await own.has('its own', () => metrics(own).length > 0);
      await sendPoint(id, 'last', 1, {}, stage().other);
      await foreign.has('its own', () => metrics(foreign).length > 0);
      expect(metrics(foreign).map(({ metric }) => metric)).toEqual(['last']);
    });
  });

  describe('decisions §6: who is not let in', () => {
    const auth = (frame: unknown) => async (client: SocketStream) => client.send(frame);
    const rows: readonly (readonly [what: string, act: (client: SocketStream, key: string) => unknown, code: number])[] = [
      ['no JSON', auth('hello'), 4401],
      ['JSON that is no object', auth('null'), 4401],
      ['no type', (client, key) => client.send({ api_key: key }), 4401],
      ['another type', (client, key) => client.send({ type: 'device_auth', api_key: key }), 4401],
      ['no key', auth({ type: 'auth' }), 4401],
      ['a key that is no text', auth({ type: 'auth', api_key: 7 }), 4401],
      ['a malformed key', auth({ type: 'auth', api_key: 'hw_no' }), 4401],
      ['a binary frame', auth(Buffer.from('{}')), 1003],
      ['text that is not UTF-8', ({ socket }) => socket.send(Buffer.of(0x7b, 0xff), { binary: false }), 1007],
      ['a frame in 17 pieces', ({ socket }) => Array.from({ length: 17 }, () => socket.send(' ', { fin: false })), 1008],
      ['a frame of more than 64 KiB', auth('x'.repeat(65 * 1024)), 1009],
      ['no frame within 10 s', () => undefined, 4401],
    ];
    it.each(rows)('%s', async (_, act, code) => {
      const path = `/v1/sources/${stage().id('auth')}/metrics/stream`;
      const client = await SocketStream.open(stage().urls.api, path);
      stage().live.watch(client.socket, path);
      open.push(client);
      act(client, stage().own.key);
      expect(await client.closedWith()).toBe(code);
      expect(client.messages).toEqual([]);
      const one = 'Send {"type":"auth","api_key":"<API key>"} with a valid key as the first frame.';
      expect([client.closed!.reason === one, code]).toEqual([code === 4401, code]);
    });

    it('a large frame later is 1009 too', async () => {
      const client = (await read('WebSocket', `${stage().id('large')}/logs/stream`)) as SocketStream;
      client.send('{"type":"unknown"}');
      client.send('x'.repeat(65 * 1024));
      expect(await client.closedWith()).toBe(1009);
    });

    itWith('UNPAID_API_KEY')('an organization without a payment method is 4402, or 402 (needs UNPAID_API_KEY)', async () => {
      const id = stage().id('unpaid');
      const client = await read('WebSocket', `${id}/logs/stream`, { key: stage().unpaid.key });
      expect(await client.closedWith()).toBe(4402);
      problem(await stage().unpaid.ask({ path: `/v1/sources/${id}/logs/stream` }), 402, 'payment_required');
    });

    it('without a WebSocket: no key is 401, what is wrong in the URL 400, and a client that takes no events 400', async () => {
      const path = `/v1/sources/${stage().id('bad')}/metrics/stream`;
      problem(await stage().bare({ path }), 401, 'invalid_key');
      problem(await stage().own.ask({ path: '/v1/sources/-/metrics/stream' }), 400, 'invalid_source_id');
      problem(await stage().own.ask({ path: `${path}?metrics=%00` }), 400, 'invalid_metric');
      problem(await stage().own.ask({ path: `${path}?cursor=2` }), 400, 'invalid_parameter');
      problem(await stage().own.ask({ path, headers: { accept: 'application/json' } }), 400, 'invalid_request');
    });

    it('a WebSocket with something wrong in its URL is refused before it is one', async () => {
      const client = await SocketStream.open(stage().urls.api, '/v1/sources/-/metrics/stream');
      expect(await client.closedWith()).toBe(1006);
    });

    it('a key that is deleted closes its streams with 4401 within 10 s', async () => {
      const key = await stage().newKey(['read', 'write']);
      const id = stage().id('revoked');
      const clients = await Promise.all(ways.map((how) => read(how, `${id}/metrics/stream`, { key: key.api_key })));
      for (const client of clients) await listening(client, id);
      expect((await stage().own.askApp({ method: 'DELETE', path: `/api/api-keys/${key.id}` })).status).toBe(204);
      const deletedMs = performance.now();
      expect(await Promise.all(clients.map((client) => client.closedWith()))).toEqual([4401, 4401, 4401]);
      expect(performance.now() - deletedMs).toBeLessThanOrEqual(maxRevokeMs);
    });
  });

  itPeople('whoever has signed in reads the live streams of their organization, until they sign out', async () => {
    const id = stage().id('live-people');
    const me = stage().owner.elsewhere();
    const sessions = [me, stage().otherOwner];
    const [mine, others] = await Promise.all(
      sessions.map(async (visitor) => {
        const cookie = await visitor.cookie();
        return Promise.all(
          resumable.map((how) =>
            // A gateway may not know the session yet.
            eventually(async () => {
              const client = await read(how, `${id}/metrics/stream`, { cookie });
              await eventually(() => expect([client.cursor !== undefined, client.closed]).toEqual([true, undefined]), 1_000);
              return client;
            }),
          ),
        );
      }),
    );
    for (const value of [1, 2]) await sendPoint(id, 'm', value);
    for (const client of mine!) await client.has('the points', () => metrics(client).length === 2);
    expect(others!.map(({ messages }) => messages)).toEqual([[], []]);
    expect((await me.ask({ method: 'POST', path: '/api/auth/sign-out' })).status).toBe(204);
    for (const client of mine!) expect(await client.closedWith()).toBe(4401);
  });

  describe('decisions §6: a stream that resumes', () => {
    it.each(resumable)('goes on behind its cursor, once and in order: %s', async (how) => {
      const id = stage().id(`resume-${resumable.indexOf(how)}`);
      const first = await read(how, `${id}/logs/stream`);
      await first.has('a cursor', () => first.cursor !== undefined);
      const points = (from: number) => Array.from({ length: 10 }, (_, n) => ({ metric: 'e', class: 'event', value: from + n }));
      await stage().own.accepted({ source_id: id, points: points(0) });
      await first.has('ten events', () => first.events.length >= 10);
      const seen = first.events.map(({ value }) => value);
      first.cut();
      await stage().own.accepted({ source_id: id, points: points(10) });
      const second = await read(how, `${id}/logs/stream`, { after: first.cursor });
      await stage().own.accepted({ source_id: id, points: points(20) });
      await second.has('twenty events', () => second.events.length >= 20);
      expect([...seen, ...second.events.map(({ value }) => value)]).toEqual(Array.from({ length: 30 }, (_, n) => n));
    });

    it.each(resumable)('goes on behind its cursor over many connections, whichever gateways they are to: %s', async (how) => {
      const id = stage().id(`cuts-${resumable.indexOf(how)}`);
      const had: unknown[] = [];
      let [cursor, sent]: [string | undefined, number] = [undefined, 0];
      for (let round = 0; round < 8; round++) {
        const reader = await read(how, `${id}/logs/stream`, { after: cursor });
        await reader.has('a cursor', () => reader.cursor !== undefined);
        // What is sent comes partly before the cut, partly behind it.
        for (let n = 0; n < 3; n++) {
          const points = Array.from({ length: 4 }, () => ({ metric: 'e', class: 'event', value: sent++ }));
          await stage().own.accepted({ source_id: id, points });
        }
        await reader.has('something', () => reader.events.length > round % 4);
        if (round === 7) await reader.has('the rest', () => had.length + reader.events.length >= sent);
        reader.cut();
        had.push(...reader.events.map(({ value }) => value));
        cursor = reader.cursor;
      }
      expect(had).toEqual(Array.from({ length: sent }, (_, n) => n));
    });

    it.each(resumable)('whose cursor is one of the other stream begins with a gap: %s', async (how) => {
      const id = stage().id(`other-stream-${resumable.indexOf(how)}`);
      const logs = await read(how, `${id}/logs/stream`);
      await logs.has('a cursor', () => logs.cursor !== undefined);
      const reader = await read(how, `${id}/metrics/stream`, { after: logs.cursor });
      await reader.has('a gap', () => reader.messages.length > 0);
      expect(reader.messages[0]).toMatchObject({ type: 'gap', to: expect.any(Number) });
    });

    it.each(resumable)('whose cursor nobody knows begins with a gap: %s', async (how) => {
      const id = stage().id(`gap-${resumable.indexOf(how)}`);
      const sinceMs = Date.now() - 60_000;
      const foreign = `0123456789abcdef.m3.1.0.${sinceMs.toString(36)}`;
      for (const [after, from] of [
        [foreign, sinceMs],
        ['what is this', null],
      ] as const) {
        const client = await read(how, `${id}/metrics/stream`, { after });
        await client.has('a gap', () => client.messages.length > 0);
        expect(client.messages).toEqual([expect.objectContaining({ type: 'gap', from, to: expect.any(Number) })]);
        await listening(client, id);
        client.cut();
      }
    });
  });
};
