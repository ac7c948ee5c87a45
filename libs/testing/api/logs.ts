import { beforeAll, describe, expect, it } from '@jest/globals';
import type { EntryJson, QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const at = Date.UTC(2024, 6, 7, 8);
const window = 'start=2024-07-07T00:00:00Z&end=2024-07-08T00:00:00Z';

export const logs: Section = (stage) => {
  describe('§2 and §6: an event is a log entry, its value always a string', () => {
    const values: readonly (readonly [sent: unknown, stored: string])[] = [
      ['plain text', 'plain text'],
      ['', ''],
      ['"quoted"', '"quoted"'],
      ['{"json":"in a string"}', '{"json":"in a string"}'],
      [{ open: true, by: 'ann' }, '{"open":true,"by":"ann"}'],
      [{ b: 1, a: { c: [1, 2, null, 'x'] } }, '{"b":1,"a":{"c":[1,2,null,"x"]}}'],
      [{}, '{}'],
      [[], '[]'],
      [7, '7'],
      [1.5e-9, '1.5e-9'],
      [true, 'true'],
      [false, 'false'],
      [null, 'null'],
      ['ünïcode 🌡\n\u0001', 'ünïcode 🌡\n\u0001'],
      ['x'.repeat(4096), 'x'.repeat(4096)],
      ['é'.repeat(2048), 'é'.repeat(2048)],
      [['x'.repeat(4092)], JSON.stringify(['x'.repeat(4092)])],
    ];
    it.each(values.map(([sent, stored], n) => [JSON.stringify(sent).slice(0, 40), n, sent, stored] as const))(
      '%s',
      async (_, n, sent, stored) => {
        const id = stage().id(`event-${n}`);
        const event = { metric: 'door', class: 'event', value: sent, timestamp: at, tags: { site: 'north' } };
        await stage().own.accepted({ source_id: id, points: [event] });
        await stage().reads<EntryJson[]>(id, `/logs?${window}`, (entries) =>
          expect(entries).toEqual([{ timestamp_ms: at, metric: 'door', value: stored, tags: { site: 'north' } }]),
        );
      },
    );

    it.each([
      ['{ "a" : [ 1 , 2.50 ] }', '{"a":[1,2.50]}'],
      ['[1.0, -0, 1E+2, 1e400, 12345678901234567890]', '[1.0,-0,1E+2,1e400,12345678901234567890]'],
      ['{"2":1,"1":2,"2":3,"__proto__":4}', '{"2":1,"1":2,"2":3,"__proto__":4}'],
      [String.raw`{"a b": "c \" , d", "\u00e9": "\ud83d\ude00 é"}`, String.raw`{"a b":"c \" , d","\u00e9":"\ud83d\ude00 é"}`],
      ['1.0', '1.0'],
    ])('decisions §1: %s is kept as it was sent, without its blanks', async (sent, stored) => {
      const id = stage().id(`sent-${sent.length}`);
      await stage().own.accepted(`{"source_id":"${id}","points":[{"metric":"e","class":"event","timestamp":${at},"value": ${sent} }]}`);
      await stage().reads<EntryJson[]>(id, `/logs?${window}`, (entries) => expect(entries.map(({ value }) => value)).toEqual([stored]));
    });

    it.each([
      ['a string of 4,097 bytes', 'x'.repeat(4097)],
      ['2,049 letters of two bytes', 'é'.repeat(2049)],
      ['JSON of 4,097 bytes', ['x'.repeat(4093)]],
    ])('%s is 400', async (_, value) => {
      const answer = await stage().own.ingest({ source_id: 'a', points: [{ metric: 'e', class: 'event', value }] });
      const { errors: flaws = [] } = problem(answer, 400, 'invalid_points');
      expect(flaws.map(({ pointer }) => pointer)).toEqual(['/points/0/value']);
    });

    it('§4.1 rule 3: an event is in the logs and not among the metrics', async () => {
      const id = stage().id('event-only');
      await stage().own.accepted({ source_id: id, points: [{ metric: 'e', class: 'event', value: 1, timestamp: Date.now() }] });
      await stage().reads<EntryJson[]>(id, '/logs', (entries) => expect(entries).toHaveLength(1));
      await stage().caughtUp(id);
      await stage().reads(id, '/metrics', (names) => expect(names).toEqual(['mark']));
      await stage().reads<{ metrics: object }>(id, '/metrics/latest', ({ metrics }) => expect(Object.keys(metrics)).toEqual(['mark']));
      await stage().reads<QueryJson>(id, '/metrics/query?metrics=e', ({ series }) => expect(series).toEqual({}));
    });

    it('tags are {} when there are none', async () => {
      const id = stage().id('untagged');
      const event = { metric: 'e', class: 'event', value: 'x' };
      await stage().own.accepted({
        source_id: id,
        points: [
          { ...event, timestamp: at },
          { ...event, timestamp: at + 1, tags: {} },
          { ...event, timestamp: at + 2, tags: null },
        ],
      });
      await stage().reads<EntryJson[]>(id, `/logs?${window}`, (entries) => expect(entries.map(({ tags }) => tags)).toEqual([{}, {}, {}]));
    });
  });

  describe('decisions §3: an event is identified by source, metric, time, value, tags and its ordinal among equal ones in its body', () => {
    const event = { metric: 'e', class: 'event', value: 'x', timestamp: at, tags: { a: '1', b: '2' } };
    it.each([
      ['two equal ones in one body are two', [[event, event]], 2],
      [
        'the same body twice',
        [
          [event, event],
          [event, event],
        ],
        2,
      ],
      ['a part of it again', [[event, event], [event]], 2],
      ['first one, then two', [[event], [event, event]], 2],
      ['three bodies of one', [[event], [event], [event]], 1],
      ['another value', [[event], [{ ...event, value: 'y' }]], 2],
      ['another time', [[event], [{ ...event, timestamp: at + 1 }]], 2],
      ['another name', [[event], [{ ...event, metric: 'f' }]], 2],
      ['other tags', [[event], [{ ...event, tags: { a: '1' } }], [{ ...event, tags: { a: '1', b: '3' } }]], 3],
      ['the tags in another order', [[event], [{ ...event, tags: { b: '2', a: '1' } }]], 1],
      [
        'among others',
        [
          [{ ...event, value: 0 }, event, { ...event, value: 1 }, event],
          [event, event],
        ],
        4,
      ],
    ])('%s', async (what, bodies, count) => {
      const id = stage().id(`identity-${what.replaceAll(/\W+/g, '-')}`);
      for (const points of bodies) await stage().own.accepted({ source_id: id, points });
      await stage().caughtUp(id);
      await stage().reads<EntryJson[]>(id, `/logs?${window}`, (entries) => expect(entries).toHaveLength(count));
    });

    it('of another source it is another event', async () => {
      const [a, b] = [stage().id('identity-a'), stage().id('identity-b')];
      await stage().own.accepted({
        points: [
          { ...event, source_id: a },
          { ...event, source_id: b },
        ],
      });
      for (const id of [a, b]) await stage().reads<EntryJson[]>(id, `/logs?${window}`, (entries) => expect(entries).toHaveLength(1));
    });
  });

  describe('§4.8: last, start and end, tail, name and limit', () => {
    const id = (): string => stage().id('logs');
    const values = (...found: number[]): string[] => found.map(String);
    beforeAll(async () => {
      const now = Date.now();
      // Sent out of order; 0 to 5 lie in 2024, 6 to 9 in the last hour, 6 and 7 at one time.
      const times = [0, 1, 2, 3, 4, 5].map((n) => at + n * 1000).concat([now - 1_800_000, now - 1_800_000, now - 60_000, now - 1000]);
      const points = times.map((timestamp, n) => ({ metric: n % 3 === 0 ? 'third' : 'other', class: 'event', value: n, timestamp }));
      await stage().own.accepted({
        source_id: id(),
        points: [...points.slice(5, 8), points[9], ...points.slice(0, 5).toReversed(), points[8]],
      });
    });

    it.each([
      ['nothing: the last hour', '', values(6, 7, 8, 9)],
      ['last', 'last=10m', values(8, 9)],
      ['a window', window, values(0, 1, 2, 3, 4, 5)],
      ['a window and limit: its first', `${window}&limit=2`, values(0, 1)],
      ['a window and name', `${window}&name=third`, values(0, 3)],
      ['a window, name and limit: limit counts what name leaves', `${window}&name=other&limit=3`, values(1, 2, 4)],
      ['a name that nobody sent', `${window}&name=nobody`, []],
      ['tail', 'tail=3', values(7, 8, 9)],
      ['tail of more than there are', 'tail=10000', values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)],
      ['tail and name', 'tail=2&name=third', values(6, 9)],
      ['tail ignores the window', `tail=2&${window}`, values(8, 9)],
      ['tail ignores last', 'tail=4&last=1m', values(6, 7, 8, 9)],
      ['tail ignores limit', 'tail=3&limit=1', values(7, 8, 9)],
      ['limit at its largest', `${window}&limit=10000`, values(0, 1, 2, 3, 4, 5)],
      ['limit of one', `${window}&limit=1`, values(0)],
    ])('%s', async (_, parameters, expected) => {
      await stage().reads<EntryJson[]>(id(), `/logs?${parameters}`, (entries) =>
        expect(entries.map(({ value }) => value)).toEqual(expected),
      );
    });

    it.each(
      ['limit', 'tail'].flatMap((name) =>
        ['0', '-1', '1.5', '10001', '1e2', '', 'all', '%2B5', ' 5', '9'.repeat(400)].map((value) => `${name}=${value}`),
      ),
    )('%s is 400', async (parameter) => {
      problem(await stage().own.ask({ path: `/v1/sources/${id()}/logs?${parameter.replaceAll(' ', '%20')}` }), 400, 'invalid_limit');
    });

    it('entries of one time keep the order of their body', async () => {
      const source = stage().id('places');
      const same = ['d', 'a', 'c', 'b'].map((value) => ({ metric: value, class: 'event', value, timestamp: at }));
      await stage().own.accepted({ source_id: source, points: same });
      await stage().reads<EntryJson[]>(source, `/logs?${window}`, (entries) =>
        expect(entries.map(({ value }) => value)).toEqual(['d', 'a', 'c', 'b']),
      );
      await stage().reads<EntryJson[]>(source, '/logs?tail=2', (entries) => expect(entries.map(({ value }) => value)).toEqual(['c', 'b']));
    });

    it('entries of one time come as they arrived, and a copy moves none', async () => {
      const source = stage().id('arrivals');
      const body = (...sent: readonly string[]): object => ({
        source_id: source,
        points: sent.map((value) => ({ metric: 'e', class: 'event', value, timestamp: at })),
      });
      await stage().own.accepted(body('z', 'y'));
      // The next body arrives in a later millisecond.
      for (const now = Date.now(); Date.now() === now;);
      for (const [sent, expected] of [
        [
          ['x', 'a'],
          ['z', 'y', 'x', 'a'],
        ],
        [
          ['a', 'z', 'b'],
          ['z', 'y', 'x', 'a', 'b'],
        ],
      ] as const) {
        await stage().own.accepted(body(...sent));
        await stage().reads<EntryJson[]>(source, `/logs?${window}`, (entries) =>
          expect(entries.map(({ value }) => value)).toEqual(expected),
        );
      }
      await stage().reads<EntryJson[]>(source, '/logs?tail=2', (entries) => expect(entries.map(({ value }) => value)).toEqual(['a', 'b']));
    });

    it('the default limit is 1,000, the largest 10,000', async () => {
      const source = stage().id('many-events');
      const many = Array.from({ length: 10_000 }, (_, n) => ({ metric: 'e', class: 'event', value: n, timestamp: at + n }));
      await stage().own.accepted({ source_id: source, points: many });
      await stage().own.accepted({ source_id: source, points: [{ metric: 'e', class: 'event', value: 'last', timestamp: at + 10_000 }] });
      const ends = (entries: readonly EntryJson[]): unknown => [entries.length, entries[0]?.value, entries.at(-1)?.value];
      await stage().reads<EntryJson[]>(source, `/logs?${window}&limit=10000`, (entries) =>
        expect(ends(entries)).toEqual([10_000, '0', '9999']),
      );
      await stage().reads<EntryJson[]>(source, '/logs?tail=10000', (entries) => expect(ends(entries)).toEqual([10_000, '1', 'last']));
      await stage().reads<EntryJson[]>(source, `/logs?${window}`, (entries) => expect(ends(entries)).toEqual([1000, '0', '999']));
    });
  });

  it('decisions §4: a source that nobody has has no entries', async () => {
    expect(await stage().own.json(`/v1/sources/${stage().id('nobody')}/logs?tail=10`)).toEqual([]);
    expect(await stage().own.json(`/v1/sources/${stage().id('nobody')}/logs`)).toEqual([]);
  });
};
