import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { forever, type PointBatch, type SeriesRun } from '#model';
import type { Placed } from '#stores';
import { seriesStoreContract, type SeriesStoreUnderTest } from '#testing';
import { StoreThreads } from '../store-threads.js';
import type { WorkerThread } from '../worker.js';
import { ArenaMemory, type ArenaSize } from './arena.js';
import { keepAll } from './keeper.js';
import { SqliteSeriesStore } from './series-store.js';

async function openIn(folder: string, size?: ArenaSize, activeBytes?: number): Promise<SeriesStoreUnderTest> {
  const threads = await new StoreThreads().open({ file: join(folder, 'store.db'), epochs: [] });
  const store = await SqliteSeriesStore.open(threads.writer, threads.reader, size, keepAll, undefined, activeBytes);
  return {
    store,
    settled: async () => {
      await store.checkpoint();
      await store.settled();
    },
    crash: async () => {
      store.end();
      await threads.end();
      return openIn(folder, size, activeBytes);
    },
    close: async () => {
      store.end();
      await threads.close();
      await rm(folder, { recursive: true });
    },
  };
}

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'headwater-series-'));

describe('SqliteSeriesStore', () => {
  seriesStoreContract(async () => openIn(await newFolder()));

  it('remembers the place of a record behind a checkpoint, so that readers never see an older value again', async () => {
    let subject = await openIn(await newFolder());
    const timestampMs = Float64Array.of(1_700_000_000_000);
    const [batch, later] = [1, 2].map((value, offset) => {
      const series = [{ metric: 'm', tags: '', timestampMs, value: Float64Array.of(value) }];
      return { partition: 0, offset, value: { orgId: 'org', sourceId: 's', receivedMs: timestampMs[0]!, series } };
    });
    await subject.store.write([batch!, later!], forever);
    await subject.store.checkpoint();
    subject = await subject.crash();
    await subject.store.write([batch!], forever);
    await expect(subject.store.latest('org', 's', { startMs: 0, endMs: 1e15 })).resolves.toEqual([['m', 2]]);
    await subject.close();
  });

  it('goes on where it got no memory for its next arena', async () => {
    const subject = await openIn(await newFolder(), { chunks: 1, chunkPoints: 4, pieces: 4 });
    const series = [1, 2, 3, 4, 5, 6].map((at) => ({
      metric: 'm',
      tags: '',
      timestampMs: Float64Array.of(at),
      value: Float64Array.of(at),
    }));
    const batch = { partition: 0, offset: 0, value: { orgId: 'org', sourceId: 's', receivedMs: 1, series } };
    const memory = jest.spyOn(ArenaMemory, 'memoryForPieces').mockImplementationOnce(() => {
      throw new RangeError('Array buffer allocation failed');
    });
    await expect(subject.store.write([batch], forever)).rejects.toThrow('allocation failed');
    memory.mockRestore();
    await subject.store.write([batch], forever);
    await subject.store.checkpoint();
    const query = { orgId: 'org', sourceId: 's', metrics: undefined, window: { startMs: 0, endMs: 10 }, limit: 10 };
    expect((await subject.store.raw(query)).series[0]!.value).toEqual(Float64Array.of(1, 2, 3, 4, 5, 6));
    await subject.close();
  });

  it('writes the names of many new sources before it takes more', async () => {
    let subject = await openIn(await newFolder());
    const column = Float64Array.of(1);
    const batches = Array.from({ length: 40_000 }, (_, offset) => {
      const series = [{ metric: 'm', tags: '', timestampMs: column, value: column }];
      return { partition: 0, offset, value: { orgId: 'org', sourceId: `s${offset}`, receivedMs: 1, series } };
    });
    await subject.store.write(batches, forever);
    subject = await subject.crash();
    await expect(subject.store.metricNames('org', 's0')).resolves.toEqual(['m']);
    await expect(subject.store.metricNames('org', 's39999')).resolves.toEqual([]);
    await subject.close();
  });
});

describe('SqliteSeriesStore with very many series', () => {
  const count = 20_000;
  const orgId = 'org';
  const column = Float64Array.of(1);
  const rows = { counts: new Uint32Array(count).fill(1), columns: Array.from({ length: 5 }, () => new Float64Array(count)) };
  const answers: Readonly<Record<string, unknown>> = {
    'series.latest': new Float64Array(count),
    'series.raw': rows,
    'series.buckets': { ...rows, present: new Uint8Array(count).fill(1) },
  };
  const asked = { orgId, window: { startMs: 0, endMs: 2 }, limit: count };
  const query = { ...asked, sourceId: 'wide', metrics: undefined };
  let turns = 0;
  let turnsBefore: number;
  let nowMs = 0;
  let subject: SqliteSeriesStore;
  let end: () => Promise<void>;

  beforeAll(async () => {
    const folder = await newFolder();
    const threads = await new StoreThreads().open({ file: join(folder, 'store.db'), epochs: [] });
    // Answers at once, so that all turns of the event loop are those of the store.
    const reader = {
      call: (name: string, argument: unknown) => {
        if (!(name in answers)) return threads.reader.call(name, argument);
        turnsBefore = turns;
        return Promise.resolve(answers[name]);
      },
    };
    subject = await SqliteSeriesStore.open(threads.writer, reader as unknown as WorkerThread);
    const run = (metric: string): SeriesRun => ({ metric, tags: '', timestampMs: column, value: column });
    const batch = (sourceId: string, series: readonly SeriesRun[], offset: number): Placed<PointBatch> => ({
      partition: 0,
      offset,
      value: { orgId, sourceId, receivedMs: 1, series },
    });
    const runs = Array.from({ length: count }, (_, at) => run(`m.${at}`));
    const fleet = runs.map((_, at) => batch(`s.${at}`, [run('one')], at + 1));
    await subject.write([batch('wide', runs, 0), ...fleet]);
    end = async () => {
      subject.end();
      await threads.end();
      await rm(folder, { recursive: true });
    };
  });
  afterAll(() => end());

  /** How many turns of the event loop go by until the reader is asked, and then until there is an answer. */
  async function turnsOf(answer: () => Promise<unknown>): Promise<{ readonly before: number; readonly behind: number }> {
    turns = turnsBefore = 0;
    let next = setImmediate(function turn() {
      turns++;
      next = setImmediate(turn);
    });
    // However fast the machine is, a look at the clock takes a millisecond.
    nowMs = Math.max(nowMs, performance.now());
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs++);
    await answer();
    clock.mockRestore();
    clearImmediate(next);
    return { before: turnsBefore, behind: turns - turnsBefore };
  }

  it.each<[string, () => Promise<unknown>]>([
    ['the latest values', () => subject.latest(orgId, 'wide', asked.window)],
    ['points', () => subject.raw(query)],
    ['buckets', () => subject.buckets({ ...query, interval: '1m' })],
  ])('lets the event loop go on before the reader is asked and behind its answer: %s', async (_, ask) => {
    const { before, behind } = await turnsOf(ask);
    expect(before).toBeGreaterThan(0);
    expect(behind).toBeGreaterThan(0);
  });

  it('lets the event loop go on before the reader is asked: a fleet, whose answer is put together in less than a turn', async () => {
    expect((await turnsOf(() => subject.fleet({ ...asked, metric: 'one', interval: '1m' }))).before).toBeGreaterThan(0);
  });

  it('lets the event loop go on while it sorts names', async () => {
    expect((await turnsOf(() => subject.metricNames(orgId, 'wide'))).behind).toBeGreaterThan(0);
  });
});

describe('SqliteSeriesStore with arenas that are soon full', () => {
  seriesStoreContract(async () => openIn(await newFolder(), { chunks: 3, chunkPoints: 32, pieces: 13 }));
});

describe('SqliteSeriesStore with memory for eight series', () => {
  seriesStoreContract(async () => openIn(await newFolder(), { chunks: 3, chunkPoints: 32, pieces: 13 }, 8 * 32 + 500));
});
