import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { forever, tagsKey, tagsOf, type DeviceEvent, type EventBatch, type LogEntry } from '#model';
import type { EventStore, Placed } from '#stores';
import { anEventHistory, EventModel, sortedTags, type EventHistory } from './event-model.js';
import { Random } from './random.js';

/** An event store on data of its own. */
export interface EventStoreUnderTest {
  readonly store: EventStore;
  /** Ends it as a crash would and opens the same data again. */
  crash(): Promise<EventStoreUnderTest>;
  close(): Promise<void>;
}

const t = 1_700_000_000_000;
const everything = { startMs: 0, endMs: 1e15 };
const all = 10_000;

/** An event at `t`, the first of its kind in its body, of which only what matters to a test is said. */
const anEvent = (some: Partial<DeviceEvent> = {}): DeviceEvent => ({
  metric: 'door',
  timestampMs: t,
  value: 'open',
  isJson: false,
  tags: '',
  place: 0,
  ordinal: 0,
  ...some,
});

const anEntry = (some: Partial<LogEntry> = {}): LogEntry => ({ timestampMs: t, metric: 'door', value: 'open', tags: {}, ...some });

/**
 * Every promise of `EventStore`; any adapter must pass.
 * @param fewest histories that are lived through, unless the environment says how many.
 */
export function eventStoreContract(open: () => Promise<EventStoreUnderTest>, fewest = 20): void {
  let subject: EventStoreUnderTest;
  let store: EventStore;
  let org = '';
  let orgs = 0;
  beforeAll(async () => void (subject = await open()));
  beforeEach(() => {
    store = subject.store;
    org = `org-${orgs++}`;
  });
  afterAll(() => subject.close());

  const aBatch = (events: readonly DeviceEvent[], of: Partial<EventBatch> = {}): Placed<EventBatch> => ({
    partition: 0,
    offset: 0,
    value: { orgId: org, sourceId: 's', receivedMs: t, origin: 'source', events, ...of },
  });

  describe('an entry', () => {
    const kept: readonly [string, Partial<DeviceEvent>][] = [
      ['plain text', { value: 'open' }],
      ['empty text', { value: '' }],
      ['JSON', { value: '{"code":17,"text":"\\u0000"}', isJson: true }],
      ['text with quotes, newlines, NUL and emoji', { value: '"\'`\n\r\t\0\u{1F6AA}\u2028' }],
      ['a value of 4,096 bytes', { value: 'é'.repeat(2048) }],
      ['a metric that looks like SQL', { metric: "'); DROP TABLE event;--" }],
      ['a metric with newline, comma and quote', { metric: 'a,"b"\nc' }],
      ['a metric with characters beyond the basic plane', { metric: '\u{10FFFF}\uFFFD\u{1F600}' }],
      ['tags', { tags: tagsKey({ site: 'north', line: '"7"\n' }) }],
      ['tags whose names are those of object properties', { tags: '[["__proto__","p"],["constructor","c"],["toString","t"]]' }],
      ['tags that are numbers, and empty ones', { tags: tagsKey({ '10': 'x', '9': '', '': 'empty' }) }],
      ['the first millisecond', { timestampMs: 1 }],
      ['the last millisecond of the year 9999', { timestampMs: 253_402_300_799_999 }],
    ];
    it.each(kept)('comes back as it was: %s', async (_, some) => {
      await store.write([aBatch([anEvent(some)])], forever);
      const { timestampMs, metric, value, tags } = anEvent(some);
      const entries = [await store.window(org, 's', everything, all), await store.tail(org, 's', 1, metric)];
      for (const [entry] of entries) {
        expect({ ...entry, tags: sortedTags(entry!.tags) }).toEqual({
          timestampMs,
          metric,
          value,
          tags: sortedTags(tagsOf(tags)),
        });
      }
    });

    it('has no tags that it was not given', async () => {
      await store.write([aBatch([anEvent()])], forever);
      const [entry] = await store.tail(org, 's', 1);
      expect(entry!.tags['toString']).toBeUndefined();
    });
  });

  describe('an event is the same as another', () => {
    const pairs: readonly [string, Partial<DeviceEvent>, Partial<DeviceEvent>, number][] = [
      ['when all is equal', {}, {}, 1],
      ['when only its place differs', { place: 0 }, { place: 4 }, 1],
      ['when its tags come in another order', { tags: tagsKey({ a: '1', b: '2' }) }, { tags: tagsKey({ b: '2', a: '1' }) }, 1],
      ['not when its ordinal differs', { ordinal: 0 }, { ordinal: 1 }, 2],
      ['not when its time differs', { timestampMs: t }, { timestampMs: t + 1 }, 2],
      ['not when its metric differs', { metric: 'door' }, { metric: 'Door' }, 2],
      ['not when its value differs', { value: 'open' }, { value: 'open ' }, 2],
      ['not when one is text and one JSON', { value: '17', isJson: false }, { value: '17', isJson: true }, 2],
      ['not when its tags differ', { tags: tagsKey({ a: '1' }) }, { tags: tagsKey({ a: '2' }) }, 2],
      ['not when a tag is another', { tags: tagsKey({ a: '1' }) }, { tags: tagsKey({ b: '1' }) }, 2],
      ['not when one has tags', { tags: '' }, { tags: tagsKey({ '': '' }) }, 2],
      ['not when tags and value meet elsewhere', { tags: tagsKey({ a: '"}' }), value: 'x' }, { tags: tagsKey({ a: '' }), value: '"}x' }, 2],
    ];
    it.each(pairs)('%s', async (_, one, other, entries) => {
      await store.write([aBatch([anEvent(one)])], forever);
      await store.write([aBatch([anEvent(other)]), aBatch([anEvent(one)])], forever);
      await expect(store.window(org, 's', everything, all)).resolves.toHaveLength(entries);
      await expect(store.tail(org, 's', all)).resolves.toHaveLength(entries);
    });

    it('not when its source or organization differs', async () => {
      const batches = [{}, { sourceId: 'S' }, { orgId: 'other' }, { orgId: `${org}/s`, sourceId: 's' }];
      await store.write(
        batches.map((of) => aBatch([anEvent({ value: JSON.stringify(of) })], of)),
        forever,
      );
      for (const of of batches) {
        const { orgId, sourceId } = aBatch([], of).value;
        await expect(store.tail(orgId, sourceId, all)).resolves.toEqual([anEntry({ value: JSON.stringify(of) })]);
      }
    });
  });

  describe('entries', () => {
    const letters = async (): Promise<void> => {
      const events = Array.from('abcdefgh', (value, at) =>
        anEvent({ value, place: at, timestampMs: t + 10 * at, metric: at % 2 ? 'odd' : 'even' }),
      );
      await store.write([aBatch(events.toReversed())], forever);
    };
    const windows: readonly [string, number, number, number, string | undefined, string][] = [
      ['all', 0, 1e15, 10, undefined, 'abcdefgh'],
      ['the start is in, the end is out', t + 10, t + 30, 10, undefined, 'bc'],
      ['one millisecond', t + 10, t + 11, 10, undefined, 'b'],
      ['between two', t + 11, t + 19, 10, undefined, ''],
      ['the first three', 0, 1e15, 3, undefined, 'abc'],
      ['one name', 0, 1e15, 10, 'odd', 'bdfh'],
      ['the first of one name', t, t + 60, 2, 'even', 'ac'],
      ['an unknown name', 0, 1e15, 10, 'Odd', ''],
      ['fractions of a millisecond', t + 9.5, t + 20.5, 10, undefined, 'bc'],
    ];
    it.each(windows)('of a window: %s', async (_, startMs, endMs, limit, name, expected) => {
      await letters();
      const entries = await store.window(org, 's', { startMs, endMs }, limit, name);
      expect(entries.map(({ value }) => value).join('')).toBe(expected);
    });

    const tails: readonly [number, string | undefined, string][] = [
      [1, undefined, 'h'],
      [3, undefined, 'fgh'],
      [10_000, undefined, 'abcdefgh'],
      [2, 'odd', 'fh'],
      [3, 'nothing', ''],
    ];
    it.each(tails)('the last %d named %s are %j', async (count, name, expected) => {
      await letters();
      const entries = await store.tail(org, 's', count, name);
      expect(entries.map(({ value }) => value).join('')).toBe(expected);
    });

    it.each<[number, string | undefined, number, number, string]>([
      [2, undefined, t, t + 40, 'cd'],
      [1, 'even', t + 10, t + 40, 'c'],
      [9, undefined, t + 20, t + 39.5, 'cd'],
      [3, undefined, t + 1, t + 9, ''],
    ])('the last %d named %s of a window from %d to %d are %j', async (count, name, startMs, endMs, expected) => {
      await letters();
      const entries = await store.tail(org, 's', count, name, { startMs, endMs });
      expect(entries.map(({ value }) => value).join('')).toBe(expected);
    });

    it('of equal time are ordered by place, then by the bytes of the metric', async () => {
      const events = [
        anEvent({ place: 2, metric: 'a' }),
        anEvent({ place: 10, metric: 'a', value: 'x' }),
        anEvent({ place: 1, metric: '\u{1F600}' }),
        anEvent({ place: 1, metric: '\uFFFD' }),
        anEvent({ place: 1, metric: 'b' }),
      ];
      await store.write(
        events.map((event) => aBatch([event])),
        forever,
      );
      const entries = await store.window(org, 's', everything, all);
      expect(entries.map(({ metric }) => metric)).toEqual(['b', '\uFFFD', '\u{1F600}', 'a', 'a']);
      await expect(store.tail(org, 's', 3)).resolves.toEqual(entries.slice(2));
    });

    it('of equal time are ordered by receive time, whatever their places', async () => {
      const arrived = [
        [t, 3, 'first'],
        [t + 1, 0, 'second'],
        [t + 1, 7, 'third'],
        [t + 60_000, 0, 'fourth'],
      ] as const;
      for (const [receivedMs, place, value] of arrived.toReversed())
        await store.write([aBatch([anEvent({ place, value })], { receivedMs })], forever);
      const entries = await store.window(org, 's', everything, all);
      expect(entries.map(({ value }) => value)).toEqual(['first', 'second', 'third', 'fourth']);
      await expect(store.tail(org, 's', 2)).resolves.toEqual(entries.slice(2));
    });

    it.each([
      ['first', [0, 5]],
      ['last', [5, 0]],
    ])('of several bodies stay where the earliest puts them, also when that is projected %s', async (_, delays) => {
      await store.write([aBatch([anEvent({ value: 'between' })], { receivedMs: t + 3 })], forever);
      for (const delay of delays)
        await store.write([aBatch([anEvent({ place: delay === 0 ? 9 : 0 })], { receivedMs: t + delay })], forever);
      const entries = await store.window(org, 's', everything, all);
      expect(entries.map(({ value }) => value)).toEqual(['open', 'between']);
      await expect(store.tail(org, 's', 1)).resolves.toEqual([anEntry({ value: 'between' })]);
    });

    it.each([['rising'], ['falling']])('of several bodies keep the least place, with %s places', async (direction) => {
      const places = direction === 'rising' ? [1, 5] : [5, 1];
      await store.write([aBatch([anEvent({ value: 'between', place: 3 })])], forever);
      for (const place of places) await store.write([aBatch([anEvent({ place })])], forever);
      const entries = await store.window(org, 's', everything, all);
      expect(entries.map(({ value }) => value)).toEqual(['open', 'between']);
    });

    it('of a source that nobody has are none', async () => {
      await expect(store.window(org, 'nobody', everything, all)).resolves.toEqual([]);
      await expect(store.tail(org, 'nobody', all)).resolves.toEqual([]);
    });

    it('10,000 of one time come back in body order', async () => {
      const events = Array.from({ length: 10_000 }, (_, place) => anEvent({ place, ordinal: place }));
      await store.write([aBatch(events.slice(0, 6_000)), aBatch(events.slice(4_000))], forever);
      await store.write([aBatch([anEvent({ place: 10_000, value: 'last' })])], forever);
      const entries = await store.window(org, 's', everything, all);
      expect(entries).toEqual(events.map(() => anEntry()));
      await expect(store.tail(org, 's', 1)).resolves.toEqual([anEntry({ value: 'last' })]);
    });
  });

  describe('a crash', () => {
    it('leaves what was written before the checkpoint', async () => {
      await store.write([aBatch([anEvent()])], forever);
      await store.checkpoint();
      subject = await subject.crash();
      await expect(subject.store.tail(org, 's', all)).resolves.toEqual([anEntry()]);
    });

    it('makes later calls of the ended store reject', async () => {
      subject = await subject.crash();
      await expect(store.write([aBatch([anEvent()])], forever)).rejects.toMatchObject({ code: 'store_unavailable' });
    });
  });

  const aDeletion = (metric: string | null, sourceId = 's'): Placed<EventBatch> => aBatch([], { sourceId, deleted: { metric } });
  describe('a deletion', () => {
    it.each<[string, string | null, readonly string[], readonly string[]]>([
      ['of a source', null, [], ['new']],
      ['of a metric', 'door', ['other'], ['other', 'new']],
    ])('%s takes what came before it and nothing else, and what comes later is new', async (_, metric, left, later) => {
      const values = async (sourceId = 's'): Promise<readonly string[]> =>
        (await store.window(org, sourceId, everything, all)).map(({ value }) => value);
      const others = anEvent({ metric: 'said', value: 'other', place: 1 });
      await store.write([aBatch([anEvent(), others]), aBatch([anEvent()], { sourceId: 't' })], forever);
      await store.write([aDeletion(metric)], forever);
      await expect(values()).resolves.toEqual(left);
      await store.write([aBatch([anEvent({ value: 'new', place: 2 })])], forever);
      await expect(values()).resolves.toEqual(later);
      await expect(values('t')).resolves.toEqual(['open']);
    });

    it('takes more rows than are deleted at once', async () => {
      const events = Array.from({ length: 3_000 }, (_, place) => anEvent({ place, ordinal: place, metric: place % 2 ? 'door' : 'said' }));
      await store.write([aBatch(events)], forever);
      await store.write([aDeletion('said'), aBatch([anEvent({ value: 'new' })], { sourceId: 't' })], forever);
      await expect(store.window(org, 's', everything, all)).resolves.toHaveLength(1_500);
      await store.write([aDeletion(null)], forever);
      await expect(store.window(org, 's', everything, all)).resolves.toEqual([]);
      await expect(store.window(org, 't', everything, all)).resolves.toEqual([anEntry({ value: 'new' })]);
    });

    it('lets the same event come again as a new one', async () => {
      await store.write([aBatch([anEvent()]), aDeletion(null), aBatch([anEvent()], { receivedMs: t + 1 })], forever);
      await store.checkpoint();
      await expect(store.window(org, 's', everything, all)).resolves.toEqual([anEntry()]);
    });

    it('of what nobody has heard of changes nothing', async () => {
      await store.write([aDeletion(null), aDeletion('door', 'u'), aBatch([anEvent()]), aDeletion('said')], forever);
      await expect(store.window(org, 's', everything, all)).resolves.toEqual([anEntry()]);
    });
  });

  describe('any history', () => {
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const histories = Number(process.env['HISTORIES'] ?? fewest);

    it(`gives what brute force gives (SEED=${seed}, ${histories} histories)`, async () => {
      for (let at = 0; at < histories; at++) {
        const history = anEventHistory(new Random(seed + at), `${org}-${at}`);
        subject = await live(history, new Random(seed + at), subject);
        for (const { answers, model } of await compare(history, subject.store)) expect(answers).toEqual(model);
      }
    });
  });
}

/** Delivers a history in pieces, with crashes after each of which delivery goes on from the last checkpoint. */
async function live({ deliveries }: EventHistory, random: Random, subject: EventStoreUnderTest): Promise<EventStoreUnderTest> {
  let current = subject;
  let committed = 0;
  for (let next = 0; next < deliveries.length;) {
    const end = next + random.whole(1, 5);
    await current.store.write(deliveries.slice(next, end), forever);
    next = end;
    if (random.chance(0.3)) {
      await current.store.checkpoint();
      committed = next;
    }
    if (random.chance(0.05)) {
      current = await current.crash();
      next = committed;
    }
  }
  return current;
}

/** Asks for everything in every way, beside what the model of the history says. */
async function compare({ deliveries, orgId, sourceIds, metrics }: EventHistory, store: EventStore): Promise<readonly Compared[]> {
  const random = new Random(deliveries.length);
  const compared: Compared[] = [];
  for (const sourceId of sourceIds) {
    const model = new EventModel(deliveries.filter(({ value }) => value.sourceId === sourceId));
    const full = await store.window(orgId, sourceId, everything, all);
    compared.push({ answers: model.grouped(full), model: model.groups });
    for (let question = 0; question < 12; question++) {
      const name = random.pick([undefined, ...metrics]);
      const limit = random.pick([1, 2, 3, 7, 50]);
      const startMs = t + random.whole(-2, 12);
      const endMs = startMs + random.whole(1, 12);
      const named = full.filter(({ metric }) => name === undefined || metric === name);
      const inside = named.filter(({ timestampMs }) => startMs <= timestampMs && timestampMs < endMs);
      const answers = [
        await store.window(orgId, sourceId, { startMs, endMs }, limit, name),
        await store.tail(orgId, sourceId, limit, name),
      ];
      compared.push({ answers, model: [inside.slice(0, limit), named.slice(-limit)] });
    }
  }
  return compared;
}

interface Compared {
  readonly answers: unknown;
  readonly model: unknown;
}
