import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { entry, pagesOf, tombstone, type Change, type Entry, type StreamRecord, type View } from '#log';
import type { ApiKey, Source } from '#model';
import { apiKeys, sources } from '#topics';
import { until } from './until.js';
import { Random } from './random.js';
import type { LogUnderTest } from './record-log.contract.js';

const aSource = (sourceId: string, lastReceivedMs = 1, orgId = 'o'): Source => ({
  orgId,
  sourceId,
  firstReceivedMs: 1,
  lastReceivedMs,
  heardIn: 'points',
});
const put = (sourceId: string, lastReceivedMs = 1, orgId = 'o'): Entry<Source> => entry(sources, aSource(sourceId, lastReceivedMs, orgId));
const count = (n: number): number[] => Array.from({ length: n }, (_, at) => at);
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const aKey: ApiKey = {
  keyId: 'k',
  orgId: 'o',
  name: 'n',
  sha256: 'a'.repeat(64),
  prefix: 'hw_',
  suffix: 'x',
  scopes: ['write'],
  createdMs: 1,
  sources: ['*'],
  createdBy: '',
};

/**
 * Every promise of `Views`; any adapter must pass.
 * @param seeds how many random courses of events there are.
 */
export function viewsContract(open: () => Promise<LogUnderTest>, seeds = 4): void {
  let subject: LogUnderTest;
  beforeEach(async () => void (subject = await open()));
  afterEach(() => subject.close());

  const append = (...entries: Entry<Source>[]): Promise<void> => subject.log.append(entries);
  const openView = async (): Promise<View<Source>> => {
    const view = subject.views.open(sources);
    await view.ready;
    return view;
  };
  const keys = (view: View<Source>, prefix: string): string[] => [...view.scan(prefix)].map(([key]) => key);
  const shows = (view: View<Source>, key: string, lastReceivedMs: number): Promise<void> =>
    until(`${key} shows ${lastReceivedMs}`, () => view.get(key)?.lastReceivedMs === lastReceivedMs);

  describe('a view', () => {
    it('of nothing is ready and empty', async () => {
      const view = await openView();
      expect(view.get('o/s')).toBeUndefined();
      expect(keys(view, '')).toEqual([]);
      expect(view.size).toBe(0);
    });

    it('is scanned in pages, each key once', async () => {
      await append(...count(3000).map((at) => put(`s${at}`)), put('x', 1, 'p'), put('\u{1f600}', 1, 'o'));
      const view = await openView();
      await view.caughtUp();
      const pages = Array.from(pagesOf(view, 'o/'), (page) => page.map(([key]) => key));
      expect(pages.length).toBeGreaterThan(1);
      expect(view.size).toBe(keys(view, '').length);
      expect(view.count('o/')).toBe(keys(view, 'o/').length);
      expect(pages.flat()).toEqual(keys(view, 'o/'));
      expect(Array.from(pagesOf(view, 'o/', 'o/s2'), (page) => page.length).reduce((sum, length) => sum + length)).toBe(
        keys(view, 'o/').filter((key) => byBytes(key, 'o/s2') > 0).length,
      );
      expect([...pagesOf(view, 'nobody/')]).toEqual([]);
    });

    it('is ready once it holds all that was in the topic', async () => {
      for (const n of count(20)) await append(...count(50).map((at) => put(`s${at}`, n)));
      await append(tombstone(sources, 'o/s7'));
      for (const again of ['as it is', 'opened again'] as const) {
        if (again === 'opened again') subject = await subject.reopen();
        const view = await openView();
        expect(view.get('o/s3')).toEqual(aSource('s3', 19));
        expect(view.get('o/s7')).toBeUndefined();
        expect(keys(view, 'o/').length).toBe(49);
      }
    });

    it('has caught up with what was appended before the call', async () => {
      const view = await openView();
      for (const n of count(20)) {
        await append(put('s', n));
        await view.caughtUp();
        expect(view.get('o/s')).toEqual(aSource('s', n));
      }
    });

    it('follows what is appended, and a tombstone ends its key until it is set again', async () => {
      const view = await openView();
      await append(put('s', 1));
      await shows(view, 'o/s', 1);
      await append(put('s', 2), put('s', 3));
      await shows(view, 'o/s', 3);
      await append(tombstone(sources, 'o/s'));
      await until('the key is gone', () => view.get('o/s') === undefined && keys(view, '').length === 0);
      await append(put('s', 4));
      await shows(view, 'o/s', 4);
      expect(keys(view, '')).toEqual(['o/s']);
    });

    it('waits until a key has a value that fits, or has none, and gives up in time', async () => {
      const view = await openView();
      const fits = view.until('o/s', (source) => source?.lastReceivedMs === 2, 30_000);
      await append(put('s', 1), put('t', 2));
      await append(put('s', 2));
      expect(await fits).toEqual(aSource('s', 2));
      expect(await view.until('o/t', (source) => source !== undefined, 30_000)).toEqual(aSource('t', 2));
      const gone = view.until('o/s', (source) => source === undefined, 30_000);
      await append(tombstone(sources, 'o/s'));
      expect(await gone).toBeUndefined();
      await expect(view.until('o/s', (source) => source !== undefined, 10)).rejects.toMatchObject({ code: 'log_unavailable' });
      subject = await subject.reopen();
      expect(await subject.views.open(sources).until('o/t', (source) => source !== undefined, 30_000)).toEqual(aSource('t', 2));
    });

    it('is one for each topic', async () => {
      const view = await openView();
      expect(subject.views.open(sources)).toBe(view);
      const others = subject.views.open(apiKeys);
      await subject.log.append([entry(apiKeys, aKey)]);
      await until('the key is there', () => others.get('k') !== undefined);
      expect(others.get('k')).toEqual(aKey);
      expect(keys(view, '')).toEqual([]);
    });

    it('has heard the log a moment ago', async () => {
      const view = await openView();
      await until('it is less than 5 s old', () => view.ageMs() < 5_000);
      expect(view.ageMs()).toBeGreaterThanOrEqual(0);
    });

    it('that is opened with the log while others append misses nothing', async () => {
      await append(...count(3_000).map((n) => put(`s${n}`, 0)));
      subject = await subject.reopen();
      const view = subject.views.open(sources);
      const appended = Promise.all(count(200).map((n) => append(put(`s${n}`, 7), tombstone(sources, `o/s${2_999 - n}`))));
      await view.ready;
      await appended;
      await until('it holds the last state', () => keys(view, 'o/').length === 2_800 && view.get('o/s199')?.lastReceivedMs === 7);
      for (const n of count(3_000)) expect(view.get(`o/s${n}`)?.lastReceivedMs).toBe(n < 200 ? 7 : n < 2_800 ? 0 : undefined);
    });
  });

  describe('a record that cannot be decoded', () => {
    const rubbish = Buffer.from('rubbish');
    const bytesOf = async (key: ApiKey): Promise<Uint8Array> => {
      const found = Promise.withResolvers<StreamRecord>();
      const handler = async (records: readonly StreamRecord[]): Promise<void> => found.resolve(records[0]!);
      const never = (): Promise<void> => Promise.resolve();
      await subject.log.append([entry(apiKeys, key)]);
      const read = await subject.log.consume({ group: 'bytes', topics: [apiKeys], handler, unreadable: never, stopped: () => undefined });
      const bytes = subject.log.encoded(await found.promise);
      await read.stop();
      return bytes;
    };
    const unreadable = (): (readonly [topic: string, key: string])[] =>
      subject.views.unreadableKeys().map(({ topic, key }) => [topic, key]);

    it('takes an API key for deleted, for good, and no other key; a newer record or a tombstone ends that', async () => {
      const other = { ...aKey, keyId: 'other' };
      await subject.log.append([entry(apiKeys, aKey), entry(apiKeys, other)]);
      const view = subject.views.open(apiKeys);
      await view.ready;
      const heard: Change<ApiKey>[] = [];
      view.changes((change) => heard.push(change));
      await subject.log.appendBytes(apiKeys.name, 'k', rubbish, {});
      await subject.log.appendBytes(apiKeys.name, 'never was', rubbish, {});
      for (const again of ['as it is', 'opened again'] as const) {
        if (again === 'opened again') subject = await subject.reopen();
        const now = subject.views.open(apiKeys);
        await now.ready;
        await now.caughtUp();
        expect([now.get('k'), now.get('other')]).toEqual([undefined, other]);
        expect(unreadable()).toEqual([
          [apiKeys.name, 'k'],
          [apiKeys.name, 'never was'],
        ]);
        expect(now.ageMs()).toBeLessThan(60_000);
      }
      expect(subject.views.unreadableKeys()[0]).toMatchObject({ partition: 0, reason: expect.stringContaining('0x00 and a schema id') });
      expect(heard).toEqual([{ key: 'k', value: null }]);
      await subject.log.append([entry(apiKeys, aKey), tombstone(apiKeys, 'never was')]);
      const last = subject.views.open(apiKeys);
      await last.caughtUp();
      expect([last.get('k'), unreadable()]).toEqual([aKey, []]);
    });

    it('is also one that stands under another key than its own: it makes neither key valid', async () => {
      const bytes = await bytesOf(aKey);
      await subject.log.append([tombstone(apiKeys, 'k')]);
      await subject.log.appendBytes(apiKeys.name, 'stolen', bytes, {});
      const view = subject.views.open(apiKeys);
      await view.ready;
      await view.caughtUp();
      expect([view.get('k'), view.get('stolen'), unreadable()]).toEqual([undefined, undefined, [[apiKeys.name, 'stolen']]]);
    });

    it('lets a source keep what was known of it', async () => {
      const view = await openView();
      await append(put('s', 1));
      await subject.log.appendBytes(sources.name, 'o/s', rubbish, {});
      await append(put('t', 1));
      await view.caughtUp();
      expect([view.get('o/s'), view.get('o/t'), unreadable()]).toEqual([aSource('s'), aSource('t'), [[sources.name, 'o/s']]]);
      await append(put('s', 2));
      await view.caughtUp();
      expect([view.get('o/s'), unreadable()]).toEqual([aSource('s', 2), []]);
    });
  });

  describe('scan', () => {
    it('gives the keys with a prefix, ordered by their bytes', async () => {
      const names = ['b', 'a', 'B', 'é', '\u{1F600}', '\uFFFD', '\uE000', '\u{10FFFF}', 'a.b', 'a-b', '~', '\uD7FF', '', 'aa'];
      const view = await openView();
      await append(...[...names.map((name) => `o${name}`), 'n', '\u{1F600}', '\uFFFF'].map((orgId) => put('x', 1, orgId)));
      await until('all are there', () => keys(view, '').length === names.length + 3);
      const expected = names.map((name) => `o${name}/x`).sort(byBytes);
      expect(keys(view, 'o')).toEqual(expected);
      expect(keys(view, 'oa')).toEqual(['oa-b/x', 'oa.b/x', 'oa/x', 'oaa/x']);
      expect(keys(view, 'o/')).toEqual(['o/x']);
      expect(keys(view, '').slice(-2)).toEqual(['\uFFFF/x', '\u{1F600}/x']);
      expect(keys(view, 'p')).toEqual([]);
    });

    it('may run while keys come and go', async () => {
      const view = await openView();
      await append(...count(3_000).map((n) => put(`s${n}`)));
      await until('all are there', () => keys(view, '').length === 3_000);
      const seen = new Set<string>();
      for (const [key] of view.scan('o/')) {
        seen.add(key);
        if (seen.size === 10) await append(tombstone(sources, 'o/s2999'), put('s0'), put('zzz'));
      }
      expect(seen.size).toBeGreaterThanOrEqual(2_999);
    });
  });

  describe('changes', () => {
    it('of a key come in log order, after the view shows them, until one has enough', async () => {
      await append(put('before'));
      const view = await openView();
      const heard: (Change<Source> & { readonly shown: Source | undefined })[] = [];
      const end = view.changes((change) => heard.push({ ...change, shown: view.get(change.key) }));
      await append(put('a', 1));
      await append(put('a', 2), put('b', 1));
      await append(tombstone(sources, 'o/a'));
      await until('four changes came', () => heard.length === 4);
      expect(heard.filter(({ key }) => key === 'o/a')).toEqual([
        { key: 'o/a', value: aSource('a', 1), shown: aSource('a', 1) },
        { key: 'o/a', value: aSource('a', 2), shown: expect.anything() },
        { key: 'o/a', value: null, shown: undefined },
      ]);
      expect(heard.filter(({ key }) => key === 'o/b')).toEqual([{ key: 'o/b', value: aSource('b', 1), shown: aSource('b', 1) }]);
      end();
      await append(put('a', 3));
      await shows(view, 'o/a', 3);
      expect(heard.length).toBe(4);
    });
  });

  describe('whatever happens', () => {
    it.each(count(seeds).map((n) => n + 1))('a view shows what a map would, seed %i', async (seed) => {
      const random = new Random(seed);
      const model = new Map<string, number>();
      for (let step = 0; step < 25; step++) {
        const batch: Entry<Source>[] = [];
        for (let n = random.whole(1, 80); n > 0; n--) {
          const name = `s${random.whole(0, 400)}`;
          const gone = random.chance(0.3);
          batch.push(gone ? tombstone(sources, `o/${name}`) : put(name, step * 1000 + n));
          if (gone) model.delete(`o/${name}`);
          else model.set(`o/${name}`, step * 1000 + n);
        }
        await append(...batch);
        if (random.chance(0.15)) subject = await (random.chance(0.5) ? subject.crash() : subject.reopen());
        const view = await openView();
        await view.caughtUp();
        const shown = [...view.scan('o/')].map(([key, { lastReceivedMs }]): [string, number] => [key, lastReceivedMs]);
        expect(shown).toEqual([...model].sort(([a], [b]) => byBytes(a, b)));
        expect(view.count('o/s1')).toBe([...model.keys()].filter((key) => key.startsWith('o/s1')).length);
        const after = `o/s${random.whole(0, 400)}`;
        const limit = random.whole(1, 50);
        const page = [...view.scan('o/', { after, limit })].map(([key]) => key);
        expect(page).toEqual(shown.flatMap(([key]) => (byBytes(key, after) > 0 ? [key] : [])).slice(0, limit));
      }
    });
  });
}
