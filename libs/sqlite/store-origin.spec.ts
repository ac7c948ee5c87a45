import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entry, on, Runner, type Processor } from '#log';
import { tagsKey, type SeriesRun } from '#model';
import { events, points } from '#topics';
import { processorsOf } from '#testing';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { catchUp } from './offline/catch-up.js';
import { rebuild } from './offline/rebuild.js';
import { openStorage, type OpenedStorage } from './storage.js';

const timeMs = 1_700_000_000_000;
const everything = { startMs: 0, endMs: 1e15 };
const storeFiles = ['store.db', 'store.db-wal', 'store.db-shm'];

/** Appends a point and an event with each of these numbers. */
async function append({ log }: OpenedStorage, ...numbers: readonly number[]): Promise<void> {
  for (const n of numbers) {
    const head = { orgId: 'o', sourceId: 's', receivedMs: timeMs };
    const run = { metric: 'm', tags: '', timestampMs: Float64Array.of(timeMs + n), value: Float64Array.of(n) };
    const event = { metric: 'e', timestampMs: timeMs + n, value: `${n}`, isJson: false, tags: '', place: 0, ordinal: 0 };
    await log.append([entry(points, { ...head, series: [run] }), entry(events, { ...head, origin: 'source', events: [event] })]);
  }
}

/** A server's life on the folder, from start to stop. */
async function live(dir: string, ...numbers: readonly number[]): Promise<void> {
  const storage = await openStorage(dir);
  await append(storage, ...numbers);
  await catchUp(storage.log, processorsOf(storage));
  await storage.close();
}

/** What the stores say: the values of the points, then those of the events. */
async function answers({ series, events: logs }: OpenedStorage): Promise<readonly (readonly number[])[]> {
  const raw = await series.raw({ orgId: 'o', sourceId: 's', metrics: undefined, window: everything, limit: 1000 });
  const entries = await logs.window('o', 's', everything, 1000);
  return [raw.series.flatMap(({ value }) => [...value]), entries.map(({ value }) => Number(value))];
}

/** What the folder answers once its processors have caught up, how many records they took for that, and what the operator was told. */
async function start(dir: string): Promise<{ found: unknown; taken: number; warnings: readonly string[] }> {
  const storage = await openStorage(dir);
  try {
    let taken = 0;
    const counting = projectorsOf({ ...storage, suffix: '' }).map((one): Processor => {
      const inputs = one.inputs.map(({ topic, take }) =>
        on(topic, (records, lease) => {
          taken += records.length;
          return take(records, lease);
        }),
      );
      return { ...one, inputs };
    });
    await catchUp(storage.log, counting);
    return { found: await answers(storage), taken, warnings: storage.warnings };
  } finally {
    await storage.close();
  }
}

const both = (...numbers: readonly number[]): unknown => [numbers, numbers];

describe('a data folder of which a part was restored', () => {
  let folder: string;
  let copies = 0;
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'headwater-restored-'))));
  afterAll(() => rm(folder, { recursive: true }));

  const newDir = (): string => join(folder, `${copies++}`);
  const copyOf = async (dir: string): Promise<string> => {
    const copy = newDir();
    await cp(dir, copy, { recursive: true });
    return copy;
  };
  /** Puts the log of one folder into another. */
  const restoreLog = async (from: string, to: string): Promise<void> => {
    await rm(join(to, 'log'), { recursive: true });
    await cp(join(from, 'log'), join(to, 'log'), { recursive: true });
  };
  const removeStore = async (dir: string): Promise<void> => {
    for (const name of storeFiles) await rm(join(dir, name), { force: true });
  };

  const ahead =
    /store\.db has records that the log in log\/ does not have.*restore both.*headwater rebuild --data .*move store\.db, store\.db-wal/;
  const foreign = /store\.db was made from another log than the one in log\/.*headwater rebuild --data /;

  it('is refused when the log is older than the store, until the store is made again', async () => {
    const dir = newDir();
    await live(dir, 1, 2);
    const older = await copyOf(dir);
    await live(dir, 3);
    await restoreLog(older, dir);
    await expect(openStorage(dir)).rejects.toThrow(ahead);
    await expect(openStorage(dir)).rejects.toThrow(ahead);
    await rebuild(dir, projectorsOf);
    await live(dir, 4, 5);
    await expect(start(dir)).resolves.toMatchObject({ found: both(1, 2, 4, 5), warnings: [] });
  });

  it('is refused also when the log was copied from a living server, and so ends within what one start appended', async () => {
    const dir = newDir();
    const older = newDir();
    const storage = await openStorage(dir);
    await append(storage, 1, 2);
    // Another process copies: this one would lose its locks.
    execFileSync('cp', ['-r', dir, older]);
    await append(storage, 3);
    await catchUp(storage.log, processorsOf(storage));
    await storage.close();
    await restoreLog(older, dir);
    await expect(openStorage(dir)).rejects.toThrow(ahead);
  });

  it('is refused also when the log has grown beyond the store meanwhile', async () => {
    const dir = newDir();
    await live(dir, 1, 2);
    const older = await copyOf(dir);
    await live(dir, 3);
    const aside = await copyOf(dir);
    await restoreLog(older, dir);
    await removeStore(dir);
    await live(dir, 4, 5, 6, 7);
    await removeStore(dir);
    await cp(join(aside, 'store.db'), join(dir, 'store.db'));
    await expect(openStorage(dir)).rejects.toThrow(ahead);
    await removeStore(dir);
    await expect(start(dir)).resolves.toMatchObject({ found: both(1, 2, 4, 5, 6, 7) });
  });

  it('is refused when the older log was copied before anything was appended at that start', async () => {
    const dir = newDir();
    await live(dir, 1);
    const storage = await openStorage(dir);
    await storage.close();
    const older = await copyOf(dir);
    await live(dir, 2);
    await restoreLog(older, dir);
    await removeStore(older);
    await cp(join(dir, 'store.db'), join(older, 'store.db'));
    await removeStore(dir);
    await live(dir, 3, 4);
    await rename(join(older, 'store.db'), join(dir, 'store.db'));
    await expect(openStorage(dir)).rejects.toThrow(ahead);
  });

  it('is refused with the store of another folder', async () => {
    const [dir, other] = [newDir(), newDir()];
    await live(dir, 1, 2, 3);
    await live(other, 4);
    await cp(join(other, 'store.db'), join(dir, 'store.db'));
    await expect(openStorage(dir)).rejects.toThrow(foreign);
  });

  it('is refused with a store and an empty log, whatever version wrote the store', async () => {
    const dir = newDir();
    await live(dir, 1);
    await rm(join(dir, 'log'), { recursive: true });
    await expect(openStorage(dir)).rejects.toThrow(foreign);
    const store = new DatabaseSync(join(dir, 'store.db'));
    store.exec('PRAGMA user_version = 0; DROP TABLE origin');
    store.close();
    await expect(openStorage(dir)).rejects.toThrow(ahead);
  });

  const without: readonly [string, RegExp, (dir: string) => Promise<void>][] = [
    ['no store', /^store\.db is missing or empty: it is made again from the log/, (dir) => rm(join(dir, 'store.db'))],
    ['an empty store', /^store\.db is missing or empty/, (dir) => truncate(join(dir, 'store.db'))],
    [
      'what is left beside a store',
      /^store\.db is missing or empty/,
      async (dir) => {
        await rm(join(dir, 'store.db'));
        await writeFile(join(dir, 'store.db-wal'), 'x'.repeat(5000));
      },
    ],
    [
      'a store of another format',
      /^store\.db was written by another version: it is made again/,
      async (dir) => {
        const store = new DatabaseSync(join(dir, 'store.db'));
        store.exec('PRAGMA user_version = 0; DROP TABLE origin; DROP TABLE position; ALTER TABLE block RENAME TO piece');
        store.close();
      },
    ],
  ];
  it.each(without)('has its store made from the log when it has %s', async (_, says, change) => {
    const dir = newDir();
    await live(dir, 1, 2);
    await live(dir, 3);
    await change(dir);
    await expect(start(dir)).resolves.toEqual({ found: both(1, 2, 3), taken: 6, warnings: [expect.stringMatching(says)] });
    await expect(start(dir)).resolves.toEqual({ found: both(1, 2, 3), taken: 0, warnings: [] });
  });

  it('has points back that the format of before took for one, as they differ in tags only', async () => {
    const dir = newDir();
    const storage = await openStorage(dir);
    const core = (name: string, value: number): SeriesRun => ({
      metric: 'm',
      tags: tagsKey({ core: name }),
      timestampMs: Float64Array.of(timeMs),
      value: Float64Array.of(value),
    });
    const batch = { orgId: 'o', sourceId: 's', receivedMs: timeMs, series: [core('1', 3), core('0', 2), core('0', 1)] };
    await storage.log.append([entry(points, batch)]);
    await catchUp(storage.log, processorsOf(storage));
    await storage.close();
    const store = new DatabaseSync(join(dir, 'store.db'));
    store.exec(`
      PRAGMA user_version = 1;
      DROP INDEX block_place;
      ALTER TABLE block DROP COLUMN number;
      CREATE UNIQUE INDEX block_place ON block(run, kind, key, time_ms);
      CREATE TABLE tag_set(id INTEGER PRIMARY KEY, tags TEXT NOT NULL UNIQUE, crc INT NOT NULL)`);
    store.close();
    await expect(start(dir)).resolves.toEqual({
      found: [[1, 3], []],
      taken: 1,
      warnings: [expect.stringMatching(/written by another version/)],
    });
    await expect(start(dir)).resolves.toMatchObject({ found: [[1, 3], []], taken: 0, warnings: [] });
  });

  it('goes on making its store where a crash has cut that off', async () => {
    const dir = newDir();
    await live(dir, 1, 2, 3);
    await removeStore(dir);
    const storage = await openStorage(dir);
    const [series] = processorsOf(storage);
    const runner = new Runner(storage.log, series!, { checkpointMs: 1e9, report: () => {} });
    await runner.start();
    expect(await runner.lag()).toBeGreaterThan(0);
    await runner.caughtUp();
    await runner.checkpoint();
    await storage.crash();
    await expect(start(dir)).resolves.toEqual({ found: both(1, 2, 3), taken: 3, warnings: [] });
  });

  it('brings an older store up to its log, and takes only what that lacks', async () => {
    const dir = newDir();
    await live(dir, 1, 2);
    const older = await copyOf(dir);
    await live(dir, 3);
    await live(dir, 4);
    await removeStore(dir);
    await cp(join(older, 'store.db'), join(dir, 'store.db'));
    await expect(start(dir)).resolves.toEqual({ found: both(1, 2, 3, 4), taken: 4, warnings: [] });
  });

  it('starts as often as one likes, whether anything is appended or not', async () => {
    const dir = newDir();
    for (let n = 0; n < 6; n++) await live(dir, ...(n % 3 === 0 ? [n] : []));
    await expect(start(dir)).resolves.toEqual({ found: both(0, 3), taken: 0, warnings: [] });
  });

  it('is refused without the schemas that its log was written with', async () => {
    const dir = newDir();
    await live(dir, 1);
    await rm(join(dir, 'schemas.json'));
    await expect(openStorage(dir)).rejects.toThrow('has a log and no schemas.json');
    await expect(openStorage(dir)).rejects.toThrow('has a log and no schemas.json');
  });
});
