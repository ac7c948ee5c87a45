import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { entry, on, Runner, tombstone, type AnyTopic, type Group, type Processor, type RecordLog, type StreamRecord } from '#log';
import { type Lease, TelemetryError, type Source } from '#model';
import { events, sources, sourcesGroup } from '#topics';
import { until } from './until.js';
import { LogConsumer } from './log-consumer.js';
import { Random } from './random.js';
import type { LogUnderTest } from './record-log.contract.js';

const count = (n: number): number[] => Array.from({ length: n }, (_, at) => at);
const idOf = (record: StreamRecord): string => (record.value as Source | null)?.sourceId ?? '';
const ids = (records: readonly StreamRecord[]): string[] => records.map(idOf);
const parkedTopic: AnyTopic = { ...sources, name: `${sources.name}.dlq`, cleanup: 'delete' };

/** Holds what it was given in memory and saves it at a checkpoint, as a store would. */
class Saver implements Processor {
  group: Group = { ...sourcesGroup, name: 'g', inputs: [sources], outputs: [] };
  readonly inputs = [on(sources, (records) => this.#take(records))];
  /** Source ids in the order of processing. */
  held: string[] = [];
  calls: string[][] = [];
  before: (records: readonly StreamRecord[]) => Promise<void> = () => Promise.resolve();
  checkpointing: () => Promise<void> = () => Promise.resolve();

  constructor(readonly saved: Set<string> = new Set()) {}

  async checkpoint(): Promise<void> {
    const before = [...this.held];
    await this.checkpointing();
    for (const id of before) this.saved.add(id);
  }

  async #take(records: readonly StreamRecord[]): Promise<void> {
    this.calls.push(ids(records));
    await this.before(records);
    this.held.push(...ids(records));
  }
}

const unavailable = (): TelemetryError => new TelemetryError('store_unavailable', 'The store is away.');
const damaged = (): TelemetryError => new TelemetryError('store_corrupt', 'The store is damaged.');
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
export function runnerContract(open: () => Promise<LogUnderTest>, seeds = 10): void {
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

  describe('a batch that fails', () => {
    it.each([
      ['for want of the store', unavailable],
      ['because the store is damaged', damaged],
      ['for want of memory', outOfMemory],
    ])('%s comes again until it works, and nothing is parked', async (_, error) => {
      const saver = new Saver();
      const ofA = (): string[][] => saver.calls.filter((call) => call.includes('a'));
      saver.before = async (records) => {
        if (ids(records).includes('a') && ofA().length < 4) throw error();
      };
      const runner = await run(saver);
      await append('a');
      await append('b');
      await processed(runner, 2);
      expect(ofA()).toEqual([['a'], ['a'], ['a'], ['a']]);
      expect(saver.held.toSorted()).toEqual(['a', 'b']);
      expect(runner.figures()).toMatchObject({ parked: 0, failures: 3, stoppedBy: undefined });
      expect(reports.length).toBe(3);
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
    await until('it says so twice', () => reports.filter((message) => message.includes('cannot be parked')).length > 1);
    expect(runner.figures()).toMatchObject({ parked: 0, failures: reports.length });
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
