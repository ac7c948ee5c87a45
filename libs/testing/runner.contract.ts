import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  entry,
  maxHeldBytes,
  on,
  partitionOf,
  Runner,
  Table,
  tombstone,
  type AnyTopic,
  type Group,
  type Processor,
  type RecordLog,
  type RunnerLag,
  type StreamRecord,
  type View,
} from '#log';
import { forever, TelemetryError, type EventBatch, type Lease, type Source } from '#model';
import { events, sources, sourcesGroup } from '#topics';
import { until } from './until.js';
import { LogConsumer } from './log-consumer.js';
import { Random } from './random.js';
import type { LogUnderTest } from './record-log.contract.js';
import { withMethods } from './with-methods.js';

const count = (n: number): number[] => Array.from({ length: n }, (_, at) => at);
const idOf = (record: StreamRecord): string => (record.value as Source | null)?.sourceId ?? '';
const ids = (records: readonly StreamRecord[]): string[] => records.map(idOf);
const parkedTopic: AnyTopic = { ...sources, name: `${sources.name}.dlq`, cleanup: 'delete' };

/** Holds what it was given in memory and saves it at a checkpoint, as a store would. */
class Saver implements Processor {
  group: Group = { ...sourcesGroup, name: 'g', inputs: [sources], outputs: [] };
  readonly inputs = [on(sources, (records, lease) => this.#take(records, lease))];
  /** Source ids in the order of processing. */
  held: string[] = [];
  calls: string[][] = [];
  before: (records: readonly StreamRecord[], lease: Lease) => Promise<void> = () => Promise.resolve();
  checkpointing: () => Promise<void> = () => Promise.resolve();

  constructor(readonly saved: Set<string> = new Set()) {}

  async checkpoint(): Promise<void> {
    const before = [...this.held];
    await this.checkpointing();
    for (const id of before) this.saved.add(id);
  }

  async #take(records: readonly StreamRecord[], lease: Lease): Promise<void> {
    this.calls.push(ids(records));
    await this.before(records, lease);
    this.held.push(...ids(records));
  }
}

const unavailable = (): TelemetryError => new TelemetryError('store_unavailable', 'The store is away.');
const damaged = (): TelemetryError => new TelemetryError('store_corrupt', 'The store is damaged.');
/**
 * A reactor whose decisions depend on a clock and on a view: at a tick it says, once for each source that it has heard, what both showed then.
 * Its table is `sources.v1`, where a last time of 0 says that nothing is decided yet.
 */
class Watcher implements Processor {
  readonly group: Group = { ...sourcesGroup, name: 'watcher', inputs: [events], outputs: [sources, events] };
  readonly table: Table<Source>;
  readonly inputs = [
    on(events, async (records) => {
      for (const { key, value } of records) if (value!.origin === 'source') this.#hear(key, value!);
    }),
  ];
  after: () => void = () => {};
  readonly #undecided = new Set<string>();

  constructor(
    log: RecordLog,
    private readonly view: View<Source>,
  ) {
    this.table = new Table(log, sources);
  }

  tick(nowMs: number): void {
    for (const key of this.#undecided) {
      const source = { ...this.table.get(key)!, lastReceivedMs: nowMs };
      const value = `${source.sourceId} ${nowMs} ${this.view.get('o/flag')?.lastReceivedMs}`;
      this.table.set(key, source, [entry(events, saying(source, value))]);
    }
    this.#undecided.clear();
    this.after();
  }

  #hear(key: string, { orgId, sourceId }: EventBatch): void {
    if (this.table.get(key)?.lastReceivedMs) return;
    this.table.set(key, { orgId, sourceId, firstReceivedMs: 1, lastReceivedMs: 0 });
    this.#undecided.add(key);
  }
}

const saying = ({ orgId, sourceId }: Source, value: string, origin: EventBatch['origin'] = 'service'): EventBatch => {
  const event = { metric: 'm', timestampMs: 1, value, isJson: false, tags: '', place: 0, ordinal: 0 };
  return { orgId, sourceId, receivedMs: 1, origin, events: [event] };
};
const said = ({ value }: StreamRecord): string => (value as EventBatch).events[0]!.value;
const aSource = (sourceId: string): Source => ({ orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs: 1 });

/** As it is thrown where there is no memory for a buffer. */
function outOfMemory(): Error {
  try {
    return new Error(`${new ArrayBuffer(Number.MAX_SAFE_INTEGER).byteLength} bytes are no want of memory`);
  } catch (error) {
    return error as Error;
  }
}

/**
 * What the runner promises, on the log of an adapter.
 * @param seeds how many random courses of events there are.
 */
export function runnerContract(open: () => Promise<LogUnderTest>, seeds = 5): void {
  let subject: LogUnderTest;
  let log: RecordLog;
  let reports: string[];
  const use = (next: LogUnderTest): void => void ([subject, log] = [next, next.log]);
  beforeEach(async () => {
    use(await open());
    reports = [];
  });
  afterEach(() => subject.close());

  const append = (...names: string[]): Promise<void> =>
    log.append(names.map((sourceId) => entry(sources, { orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs: 1 })));
  const run = async (processor: Processor, checkpointMs = 1e6): Promise<Runner> => {
    const runner = new Runner(log, processor, { checkpointMs, report: (message) => reports.push(message) });
    await runner.start();
    return runner;
  };
  const parked = async (n: number): Promise<LogConsumer> => {
    const consumer = await LogConsumer.join(log, { group: `reader-${n}`, topics: [parkedTopic] });
    await until(`${n} records are parked`, () => consumer.unreadable.length >= n);
    return consumer;
  };
  const processed = (runner: Runner, n: number): Promise<void> =>
    until(`${n} records are processed`, () => runner.figures().processed >= n);

  describe('offsets', () => {
    it('are not committed once the group has given the partitions to others', async () => {
      await append('a', 'b');
      let held = true;
      const lease: Lease = { held: () => held };
      const leasing: Pick<RecordLog, 'consume'> = {
        consume: (options) => log.consume({ ...options, handler: (records) => options.handler(records, lease) }),
      };
      const runner = new Runner(leasing as RecordLog, new Saver(), { checkpointMs: 1e6, report: (message) => reports.push(message) });
      await runner.start();
      await processed(runner, 2);
      held = false;
      await expect(runner.checkpoint()).rejects.toMatchObject({ code: 'log_unavailable' });
      await expect(runner.checkpoint()).resolves.toBeUndefined();
      expect(await runner.lag()).toBe(2);
      expect([runner.figures().failures, ...reports]).toEqual([0]);
      await runner.stop();
    });

    it('are committed behind a checkpoint, not before', async () => {
      await append('a', 'b');
      const first = await run(new Saver());
      await processed(first, 2);
      expect(await first.lag()).toBe(2);
      use(await subject.crash());

      const saver = new Saver();
      const second = await run(saver);
      await processed(second, 2);
      expect(saver.held.toSorted()).toEqual(['a', 'b']);
      await second.checkpoint();
      expect(await second.lag()).toBe(0);
      use(await subject.crash());

      await append('c');
      const third = new Saver();
      await processed(await run(third), 1);
      expect(third.held).toEqual(['c']);
    });

    it('stay when a checkpoint fails, and go on with the next one', async () => {
      const saver = new Saver();
      saver.checkpointing = () => Promise.reject(unavailable());
      const runner = await run(saver);
      await append('a');
      await processed(runner, 1);
      await expect(runner.checkpoint()).rejects.toThrow('The store is away.');
      expect(await runner.lag()).toBe(1);
      expect(runner.figures().failures).toBe(1);
      saver.checkpointing = () => Promise.resolve();
      await runner.checkpoint();
      expect(await runner.lag()).toBe(0);
    });

    it('do not cover what came while the checkpoint ran', async () => {
      const gate = Promise.withResolvers<void>();
      const saver = new Saver();
      saver.checkpointing = () => gate.promise;
      const runner = await run(saver);
      await append('a');
      await processed(runner, 1);
      const checkpoint = runner.checkpoint();
      await append('b', 'c');
      await processed(runner, 3);
      gate.resolve();
      await checkpoint;
      expect([...saver.saved]).toEqual(['a']);
      expect(await runner.lag()).toBe(2);
      expect(runner.figures().checkpointSeconds.counts.reduce((sum, n) => sum + n)).toBe(1);
    });

    it('lag by the age of the oldest record that is not committed', async () => {
      const nowMs = Date.now() + 60_000;
      const runner = new Runner(log, new Saver(), { checkpointMs: 1e6, clock: () => nowMs, report: () => {} });
      await runner.start();
      const behind = async (): Promise<readonly RunnerLag[]> => (await runner.lags()).filter(({ ageMs }) => ageMs > 0);
      expect(await behind()).toEqual([]);
      await append('a');
      await processed(runner, 1);
      const partition = partitionOf(Buffer.from('o/a'), sources.partitions);
      expect(await behind()).toEqual([{ topic: sources.name, partition, records: 1, ageMs: expect.any(Number) }]);
      expect((await behind())[0]!.ageMs).toBeGreaterThan(30_000);
      await runner.checkpoint();
      expect(await behind()).toEqual([]);
      await runner.stop();
    });

    it('move by themselves every so often', async () => {
      const runner = await run(new Saver(), 20);
      await append('a');
      await processed(runner, 1);
      await until('the lag is 0', async () => (await runner.lag()) === 0);
      expect(runner.figures().checkpointAgeMs).toBeLessThan(30_000);
      await runner.stop();
    });

    it('are those of the last record when the runner stops', async () => {
      const saver = new Saver();
      const gate = Promise.withResolvers<void>();
      saver.before = () => gate.promise;
      const runner = await run(saver);
      await append('a');
      await until('it is being processed', () => saver.calls.length > 0);
      const stopped = runner.stop();
      gate.resolve();
      await stopped;
      expect([...saver.saved]).toEqual(['a']);
      await append('b');
      const next = new Saver();
      await processed(await run(next), 1);
      expect(next.held).toEqual(['b']);
    });
  });

  /** The log as it is given to a member whose lease `held` tells of. */
  const leased = (held: () => boolean): RecordLog => {
    const lease: Lease = { held };
    return withMethods(log, {
      consume: ({ handler, given, ...options }) =>
        log.consume({ ...options, given: (_, partitions) => given?.(lease, partitions), handler: (records) => handler(records, lease) }),
    });
  };

  describe('a tick', () => {
    it('comes between batches and never with one, with the time of the clock', async () => {
      const [batch, tick] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const seen: unknown[] = [];
      const saver = Object.assign(new Saver(), {
        tick: async (nowMs: number) => {
          seen.push(nowMs, [...saver.held]);
          await tick.promise;
        },
      });
      saver.before = () => batch.promise;
      let nowMs = 5;
      const runner = new Runner(log, saver, { checkpointMs: 1e6, tickMs: 1e6, clock: () => nowMs, report: () => {} });
      await runner.start();
      await append('a');
      await until('it is being processed', () => saver.calls.length > 0);
      const ticked = runner.tick();
      expect(seen).toEqual([]);
      nowMs = 7;
      batch.resolve();
      await until('it ticks', () => seen.length > 0);
      await append('b');
      const other = await LogConsumer.join(log, { group: 'other', topics: [sources] });
      await other.has(2);
      expect(saver.calls).toEqual([['a']]);
      tick.resolve();
      await ticked;
      await processed(runner, 2);
      expect(seen).toEqual([7, ['a']]);
      await runner.stop();
    });

    it('comes by itself, also where nothing does, and again after a failure', async () => {
      let ticks = 0;
      const saver = Object.assign(new Saver(), { tick: () => (ticks++ === 0 ? Promise.reject(unavailable()) : Promise.resolve()) });
      const runner = new Runner(log, saver, { checkpointMs: 1e6, tickMs: 20, report: (message) => reports.push(message) });
      await runner.start();
      await until('it has ticked', () => ticks > 2);
      expect(reports).toEqual([
        'group g: a tick failed: The store is away',
        expect.stringMatching(/^group g: a tick works again, after 1 failure in \d+ s$/),
      ]);
      await runner.stop();
    });

    it('does not come under a lost lease', async () => {
      let [held, ticks] = [true, 0];
      const saver = Object.assign(new Saver(), { tick: () => void ticks++ });
      const runner = new Runner(
        leased(() => held),
        saver,
        { checkpointMs: 1e6, tickMs: 1e6, report: () => {} },
      );
      await runner.start();
      await runner.tick();
      held = false;
      await runner.tick();
      expect(ticks).toBe(1);
      await runner.stop();
    });
  });

  describe('a table', () => {
    const watch = async (at: RecordLog, nowMs: number): Promise<[Runner, Watcher]> => {
      const view = subject.views.open(sources);
      await view.caughtUp();
      const watcher = new Watcher(at, view);
      const runner = new Runner(at, watcher, { checkpointMs: 1e6, tickMs: 1e6, clock: () => nowMs, report: () => {} });
      await runner.start();
      return [runner, watcher];
    };
    const hear = (sourceId: string): Promise<void> => log.append([entry(events, saying(aSource(sourceId), '', 'source'))]);
    const flag = (lastReceivedMs: number): Promise<void> => log.append([entry(sources, { ...aSource('flag'), lastReceivedMs })]);
    const everythingSaid = async (): Promise<string[]> => {
      const consumer = await LogConsumer.join(log, { group: `hearer-${Math.random()}`, topics: [events] });
      await consumer.subscription.caughtUp();
      await consumer.stop();
      return consumer.records.filter(({ value }) => (value as EventBatch).origin === 'service').map(said);
    };
    const partitions = count(sources.partitions);

    it('holds outputs over a crash between its record and them: they come as they were decided, and nothing is decided again', async () => {
      await flag(1);
      await hear('a');
      const mute = withMethods(log, {
        append: (entries) =>
          entries.some(({ topic }) => topic.name === events.name) ? Promise.reject(unavailable()) : log.append(entries),
      });
      const [first] = await watch(mute, 100);
      await first.caughtUp();
      await expect(first.tick()).rejects.toThrow('The store is away.');
      expect(await everythingSaid()).toEqual([]);

      use(await subject.crash());
      await flag(2);
      const [second, watcher] = await watch(log, 900);
      await until('it is said', async () => (await everythingSaid()).length > 0);
      await second.caughtUp();
      await second.tick();
      expect(watcher.table.get('o/a')).toMatchObject({ lastReceivedMs: 100 });
      await second.checkpoint();
      expect(await everythingSaid()).toEqual(['a 100 1']);

      use(await subject.crash());
      await hear('b');
      const [third] = await watch(log, 950);
      await third.caughtUp();
      await third.tick();
      expect(await everythingSaid()).toEqual(expect.arrayContaining(['a 100 1', 'b 950 2']));
      expect((await everythingSaid()).length).toBe(2);
      await third.stop();
    });

    it('says the same again when the crash comes behind the outputs', async () => {
      await hear('a');
      const [first] = await watch(log, 100);
      await first.caughtUp();
      await first.tick();
      use(await subject.crash());
      const [second] = await watch(log, 900);
      await second.caughtUp();
      await second.tick();
      expect(new Set(await everythingSaid())).toEqual(new Set(['a 100 undefined']));
      await second.stop();
    });

    it('drops what a tick has decided when the lease is lost meanwhile', async () => {
      await hear('a');
      let held = true;
      const [runner, watcher] = await watch(
        leased(() => held),
        100,
      );
      await runner.caughtUp();
      watcher.after = () => (held = false);
      await runner.tick();
      await watcher.table.write();
      expect(await everythingSaid()).toEqual([]);
      const fresh = new Table(log, sources);
      await fresh.begin(forever, partitions);
      expect(fresh.get('o/a')?.lastReceivedMs ?? 0).toBe(0);
      await runner.stop();
    });

    it('knows the keys of its partitions, as they are in the log when it begins', async () => {
      await log.append([...count(20).map((n) => entry(sources, aSource(`s${n}`))), tombstone(sources, 'o/s3')]);
      const own = partitionOf(Buffer.from('o/s1'), sources.partitions);
      const table = new Table(log, sources);
      await table.begin(forever, [own]);
      const keys = count(20).map((n) => `o/s${n}`);
      const expected = keys.filter((key) => key !== 'o/s3' && partitionOf(Buffer.from(key), sources.partitions) === own);
      expect(keys.filter((key) => table.get(key))).toEqual(expected);
      table.set('o/s1', null);
      await table.write();
      await table.begin(forever, [own]);
      expect(table.get('o/s1')).toBeUndefined();
    });

    it('writes a new key and its end at once and a change of it later, and holds outputs of a bounded size', async () => {
      const written = async (): Promise<number | undefined> => {
        const again = new Table(log, sources);
        await again.begin(forever, partitions);
        return again.get('o/s1')?.lastReceivedMs;
      };
      const table = new Table(log, sources);
      await table.begin(forever, partitions);
      table.set('o/s1', aSource('s1'));
      await table.settle();
      expect(await written()).toBe(1);
      table.set('o/s1', { ...aSource('s1'), lastReceivedMs: 2 });
      expect(table.settle()).toBeUndefined();
      expect(await written()).toBe(1);
      await table.write();
      expect(await written()).toBe(2);
      table.set('o/s1', null);
      await table.settle();
      expect(await written()).toBeUndefined();
      const large = entry(events, saying(aSource('s1'), 'x'.repeat(maxHeldBytes)));
      expect(() => table.set('o/s1', aSource('s1'), [large])).toThrow(RangeError);
      table.set('o/s1', aSource('s1'), [entry(events, saying(aSource('s1'), 'x'))]);
      expect(() => table.set('o/s1', null)).toThrow('a tombstone none');
    });
  });

  describe('a batch that fails', () => {
    it.each([
      ['for want of the store', unavailable],
      ['because the store is damaged', damaged],
      ['for want of memory', outOfMemory],
    ])('%s comes again until it works, and nothing is parked', async (_, error) => {
      const saver = new Saver();
      const ofA = (): string[][] => saver.calls.filter((call) => call.includes('a'));
      // A slow group may lose its lease meanwhile: it tells of none of the failures that it had without one.
      const failures = new Map<Lease, number>();
      let worked: Lease | undefined;
      saver.before = async (records, lease) => {
        if (!ids(records).includes('a')) return;
        if (ofA().length === 4) worked = lease;
        if (ofA().length >= 4) return;
        if (lease.held()) failures.set(lease, (failures.get(lease) ?? 0) + 1);
        throw error();
      };
      const runner = await run(saver);
      await append('a');
      await append('b');
      // A slow group may be given b twice, so their number alone does not tell.
      await until('both are processed', () => ['a', 'b'].every((id) => saver.held.includes(id)));
      expect(ofA().slice(0, 4)).toEqual([['a'], ['a'], ['a'], ['a']]);
      const total = [...failures.values()].reduce((sum, n) => sum + n, 0);
      expect(runner.figures()).toMatchObject({ parked: 0, failures: total, stoppedBy: undefined });
      const partition = `${sources.name}/${partitionOf(Buffer.from('o/a'), sources.partitions)}`;
      const expected = [...failures].flatMap(([lease, n]) => [
        `failed from offset \\d+: .`,
        ...(lease === worked ? [`works again, after ${n} failure${n === 1 ? '' : 's'} in \\d+ s$`] : []),
      ]);
      expect(reports).toEqual(expected.map((what) => expect.stringMatching(`^group g: a batch of ${partition} ${what}`)));
    });

    it('because of a record has that one parked with its bytes, place and reason, and goes on', async () => {
      const saver = new Saver();
      saver.before = async (records) => {
        if (ids(records).includes('poison')) throw new Error('it makes no sense');
      };
      await append('a', 'poison', 'b');
      const runner = await run(saver);
      await append('c');
      await processed(runner, 3);
      expect(saver.held.toSorted()).toEqual(['a', 'b', 'c']);
      await until('it is parked', () => runner.figures().parked === 1);
      await runner.checkpoint();
      expect(await runner.lag()).toBe(0);

      const source = await LogConsumer.join(log, { group: 'source', topics: [sources] });
      await source.has(4);
      const poison = source.records.find((record) => idOf(record) === 'poison')!;
      const [letter] = (await parked(1)).unreadable;
      expect(letter!.key).toBe('o/poison');
      expect(Buffer.from(letter!.bytes).equals(Buffer.from(log.encoded(poison)))).toBe(true);
      expect(letter!.headers).toEqual({
        reason: 'it makes no sense',
        topic: sources.name,
        partition: `${poison.partition}`,
        offset: `${poison.offset}`,
        group: 'g',
        attempts: '1',
      });
    });

    it('because of a tombstone has it parked too', async () => {
      const saver = new Saver();
      saver.before = async (records) => {
        if (records.some(({ value }) => value === null)) throw new Error('nothing there');
      };
      const runner = await run(saver);
      await log.append([tombstone(sources, 'o/gone')]);
      await append('a');
      await processed(runner, 1);
      expect((await parked(1)).unreadable[0]).toMatchObject({ key: 'o/gone', headers: { reason: 'nothing there' } });
    });

    it('is not parked twice when it comes again for another reason', async () => {
      const saver = new Saver();
      let away = true;
      saver.before = async (records) => {
        if (ids(records).includes('poison')) throw new Error('it makes no sense');
        if (away && ids(records).includes('z')) throw unavailable();
      };
      await append('a', 'poison', 'z');
      const runner = await run(saver);
      await until('it failed a few times', () => saver.calls.filter((call) => call.includes('z')).length > 4);
      away = false;
      await until('all is processed', () => saver.held.length > 1 && runner.figures().parked > 0);
      expect(runner.figures().parked).toBe(1);
      expect(new Set(saver.held)).toEqual(new Set(['a', 'z']));
    });
  });

  describe('a record that was parked', () => {
    const poisoned = (group: string): Saver => {
      const saver = new Saver();
      saver.group = { ...saver.group, name: group };
      saver.before = async (records) => {
        if (ids(records).includes('poison')) throw new Error('it makes no sense');
      };
      return saver;
    };
    const parkedBy = async (group: string): Promise<void> => {
      const runner = await run(poisoned(group));
      await until(`${group} has done with it`, () => runner.figures().parked === 1);
      await runner.stop();
    };

    it('is one dead letter of a processor, after a crash and in every generation', async () => {
      await append('poison');
      const cutOff = await run(poisoned('g.g1'));
      await until('it is parked', () => cutOff.figures().parked === 1);
      // Its offset is not committed, so it comes again.
      use(await subject.crash());
      await parkedBy('g.g1');
      await parkedBy('g.g2');
      await parkedBy('other');
      const groups = (await parked(2)).unreadable.map(({ headers }) => headers['group']);
      expect(groups).toEqual(['g.g1', 'other']);
    });

    it('and sent back says how often', async () => {
      const source = { orgId: 'o', sourceId: 'poison', firstReceivedMs: 1, lastReceivedMs: 1 };
      const runner = await run(poisoned('g'));
      for (const [at, attempts] of ['4', 'x'].entries()) {
        await log.append([entry(sources, source, { attempts })]);
        await until('it is parked', () => runner.figures().parked === at + 1);
      }
      expect((await parked(2)).unreadable.map(({ headers }) => headers['attempts'])).toEqual(['5', '1']);
    });
  });

  it('does not begin where an input has nobody who takes it', () => {
    const saver = new Saver();
    saver.group = { ...saver.group, inputs: [sources, events] };
    expect(() => new Runner(log, saver, { checkpointMs: 1e6, report: () => {} })).toThrow('does not take telemetry.events.v1');
  });

  it('says that a record cannot be parked, and tries again', async () => {
    let away = true;
    const parking: Pick<RecordLog, 'consume' | 'encoded' | 'appendBytes'> = {
      consume: (options) => log.consume(options),
      encoded: (record) => log.encoded(record),
      appendBytes: (...letter) => (away ? Promise.reject(unavailable()) : log.appendBytes(...letter)),
    };
    await log.appendBytes(sources.name, 'o/odd', Uint8Array.of(0), {});
    const runner = new Runner(parking as RecordLog, new Saver(), { checkpointMs: 1e6, report: (message) => reports.push(message) });
    await runner.start();
    await until('it has tried again', () => runner.figures().failures > 1);
    expect(reports).toEqual([expect.stringMatching(/^group g: parking the record of .* at offset .* failed: The store is away$/)]);
    expect(runner.figures().parked).toBe(0);
    away = false;
    await until('it is parked', () => runner.figures().parked === 1);
    await runner.stop();
  });

  it('parks what nobody can decode, and goes on', async () => {
    await append('a');
    await log.appendBytes(sources.name, 'o/odd', Uint8Array.of(0, 0, 0, 0, 1, 255), { request_id: 'r' });
    await append('b');
    const saver = new Saver();
    const runner = await run(saver);
    await processed(runner, 2);
    const [letter] = (await parked(1)).unreadable;
    await until('it is parked', () => runner.figures().parked === 1);
    expect([...letter!.bytes]).toEqual([0, 0, 0, 0, 1, 255]);
    expect(letter!.headers).toMatchObject({ topic: sources.name, group: 'g' });
    await runner.checkpoint();
    expect(await runner.lag()).toBe(0);
  });

  describe('a crash between any two steps', () => {
    it.each(count(seeds).map((n) => n + 1))('leaves nothing out that was acknowledged, seed %i', async (seed) => {
      const random = new Random(seed);
      const acknowledged: string[] = [];
      const saved = new Set<string>();
      let saver = new Saver(saved);
      let runner = await run(saver, random.whole(5, 50));
      for (const step of count(25)) {
        const names = count(random.whole(1, 9)).map((n) => `s${step}-${n}`);
        const sent = append(...names).then(
          () => acknowledged.push(...names),
          () => 0,
        );
        if (random.chance(0.6)) await sent;
        saver.before = () => (random.chance(0.1) ? Promise.reject(unavailable()) : Promise.resolve());
        saver.checkpointing = () => (random.chance(0.3) ? Promise.reject(unavailable()) : Promise.resolve());
        if (random.chance(0.2)) {
          if (random.chance(0.3)) await runner.stop();
          use(await subject.crash());
          await sent;
          saver = new Saver(saved);
          runner = await run(saver, random.whole(5, 50));
        }
      }
      saver.before = () => Promise.resolve();
      saver.checkpointing = () => Promise.resolve();
      await until('all that was acknowledged is saved', () => acknowledged.every((id) => saved.has(id)));
      expect(runner.figures().parked).toBe(0);
      await runner.stop();
    });
  });
}
