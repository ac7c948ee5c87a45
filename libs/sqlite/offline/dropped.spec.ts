import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entry, Runner } from '#log';
import type { EventBatch } from '#model';
import type { Difference } from '#stores';
import { aSeriesHistory, anEventHistory, processorsOf, Random } from '#testing';
import { events, points } from '#topics';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { backup } from '../backup/backup.js';
import { restore } from '../backup/restore.js';
import { openStorage, type OpenedStorage } from '../storage.js';
import { damageBlock } from '../test-folder.js';
import { rebuild } from './rebuild.js';
import { trim } from './trim.js';
import { verify } from './verify.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const keepLogMs = 86_400_000;
/** The first half of the log is dropped. What a history sends twice may be in both. */
const histories = 4;
/**
 * An event that looks like no other. `verify` compares what readers see, so it does not notice that an event is gone while the store has
 * another one that looks the same, of a record that was dropped.
 */
const lastEvents: EventBatch = {
  orgId: 'o0',
  sourceId: 's',
  receivedMs: 1_700_000_000_000,
  origin: 'source',
  events: [{ metric: 'last', timestampMs: 1_700_000_000_000, value: 'last', isJson: false, tags: '', place: 0, ordinal: 0 }],
};
/** Of a source that nobody deletes. */
const firstEvents: EventBatch = { ...lastEvents, sourceId: 'first' };
const everything = { startMs: 0, endMs: 1e15 };
const sourceIds = ['s', 's-2', 's1', 'S2', 's.3', 's10'];

/** Has every group take all that there is, and keeps their members until `work` has ended. */
async function withGroups(storage: OpenedStorage, work: () => Promise<void>): Promise<void> {
  const runners = processorsOf(storage).map((one) => new Runner(storage.log, one, { checkpointMs: 1e9, report: () => {} }));
  for (const runner of runners) await runner.start();
  await work();
  for (const runner of runners) {
    await runner.caughtUp();
    await runner.checkpoint();
  }
  await storage.log.tidied();
  for (const runner of runners) await runner.stop();
}

/** Appends histories of points and events, each at a time of its own; the log drops those that are old by then. */
async function live(dir: string, early: string): Promise<void> {
  let nowMs = 1e12;
  const storage = await openStorage(dir, { clock: () => nowMs, keepLogMs });
  const random = new Random(seed);
  for (let at = 0; at < histories; at++) {
    // Two organizations, of which each has something that is dropped and something that is not.
    const orgId = `o${at % 2}`;
    const batches = [
      ...aSeriesHistory(random, orgId, 0).records.map(({ value }) => entry(points, value)),
      ...anEventHistory(random, orgId).deliveries.map(({ value }) => entry(events, value)),
    ];
    await withGroups(storage, async () => {
      if (at === 0) await storage.log.append([entry(events, firstEvents)]);
      await storage.log.append(random.shuffled(batches));
      if (at === histories - 1) await storage.log.append([entry(events, lastEvents)]);
    });
    if (at === 0) await copyStore(dir, early);
    nowMs += at === 1 ? 0.8 * keepLogMs : 0.15 * keepLogMs;
  }
  await withGroups(storage, async () => undefined);
  await storage.close();
}

/** Copies the store as it is now, for a folder whose store is older than its log. */
async function copyStore(dir: string, to: string): Promise<void> {
  const db = new DatabaseSync(join(dir, 'store.db'));
  db.exec(`VACUUM INTO '${to}'`);
  db.close();
}

/** All points and events that the stores of a folder answer. */
async function answersOf(dir: string): Promise<unknown> {
  const storage = await openStorage(dir);
  const answers: unknown[] = [];
  for (const orgId of ['o0', 'o1']) {
    for (const sourceId of sourceIds) {
      answers.push(await storage.series.raw({ orgId, sourceId, metrics: undefined, window: everything, limit: 1e6 }));
      answers.push(await storage.events.window(orgId, sourceId, everything, 1e6));
    }
  }
  await storage.close();
  return answers;
}

describe(`a data folder whose log has dropped records (SEED=${seed})`, () => {
  let folder: string;
  let original: string;
  let answers: unknown;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-dropped-'));
    original = join(folder, 'original');
    await live(original, join(folder, 'early.db'));
    answers = await answersOf(original);
  });
  afterAll(() => rm(folder, { recursive: true }));

  let copies = 0;
  const copy = async (): Promise<string> => {
    const dir = join(folder, `copy-${copies++}`);
    await cp(original, dir, { recursive: true });
    return dir;
  };
  const alter = (dir: string, statement: string): void => {
    const db = new DatabaseSync(join(dir, 'store.db'));
    db.exec(statement);
    db.close();
  };
  const found = async (dir: string): Promise<readonly Difference['what'][]> =>
    (await verify(dir, projectorsOf)).first.map(({ what }) => what);

  it('has no differences, and says how much could not be compared', async () => {
    const { first, ...counts } = await verify(await copy(), projectorsOf);
    expect(first).toEqual([]);
    expect(counts.differences).toBe(0);
    expect(Math.min(counts.dropped, counts.sources, counts.rows, counts.events)).toBeGreaterThan(2);
  });

  it.each<readonly [string, string, readonly Difference['what'][]]>([
    ['an event that the log still has is gone', 'DELETE FROM event WHERE id = (SELECT max(id) FROM event)', ['events']],
    ['an event that the log has dropped is gone', 'DELETE FROM event WHERE id = 1', []],
    ['a value is another one', `UPDATE event SET value = value || '!' WHERE id = 1`, ['damage']],
    ['the store knows a source that the log does not', `INSERT INTO event_source(org, source) VALUES ('o', 'nobody')`, []],
    ['the newest points are gone', 'DELETE FROM run WHERE id = (SELECT max(id) FROM run)', ['damage']],
  ])('when %s: %j has what it finds', async (_, statement, expected) => {
    const dir = await copy();
    alter(dir, statement);
    expect([...new Set(await found(dir))]).toEqual(expected);
  });

  it('is the same when it is restored from a backup, also for versions that must refuse it', async () => {
    const [backedUp, restored] = [join(folder, 'backup'), join(folder, 'restored')];
    await backup({ data: await copy() }, backedUp);
    await restore(backedUp, restored);
    expect(await answersOf(restored)).toEqual(answers);
    expect((await verify(restored, projectorsOf)).differences).toBe(0);
    expect(await readFile(join(restored, 'FORMAT'), 'utf8')).toBe('headwater 3\n');
  });

  it('keeps its store, which a trim would make poorer', async () => {
    const dir = await copy();
    const trimmed = trim(dir, { keeps: () => false, sinceMs: undefined, confirmed: true });
    await expect(trimmed).rejects.toThrow('has dropped its oldest records (HEADWATER_KEEP_LOG)');
    expect(await answersOf(dir)).toEqual(answers);
  });

  const newestBlock = 'SELECT max(rowid) FROM block WHERE run = (SELECT max(id) FROM run)';
  it.each([
    ['nothing is wrong', 'SELECT 1'],
    ['an event is gone that the log has', 'DELETE FROM event WHERE id = (SELECT max(id) FROM event)'],
    ['the newest points are gone', 'DELETE FROM run WHERE id = (SELECT max(id) FROM run)'],
    ['the newest points are damaged', damageBlock(newestBlock)],
  ])('has all of its store again after a rebuild when %s', async (_, statement) => {
    const dir = await copy();
    alter(dir, statement);
    await rebuild(dir, projectorsOf);
    expect(await answersOf(dir)).toEqual(answers);
    expect(await verify(dir, projectorsOf)).toMatchObject({ differences: 0 });
  });

  it.each([
    ['an event', `UPDATE event SET value = value || '!' WHERE id = 1`],
    ['a point', damageBlock('SELECT min(rowid) FROM block')],
    ['the oldest run', 'DELETE FROM run WHERE id = (SELECT min(id) FROM run)'],
    ['a name', `UPDATE source SET name = 'renamed' WHERE id = (SELECT min(id) FROM source)`],
  ])('is not rebuilt when %s is damaged that only its store has, which stays as it is', async (_, statement) => {
    const dir = await copy();
    alter(dir, statement);
    await expect(rebuild(dir, projectorsOf)).rejects.toThrow(/The old store stands\. .* --without-deleted-records/);
    expect(await readdir(dir)).toContain('store.db');
    expect(await readdir(dir)).not.toContain('store.db.rebuilding');
  });

  it('is rebuilt from what there is when that is asked for', async () => {
    const dir = await copy();
    await rebuild(dir, projectorsOf, { withoutDeleted: true });
    expect(await answersOf(dir)).not.toEqual(answers);
    expect(await verify(dir, projectorsOf)).toMatchObject({ differences: 0, dropped: expect.any(Number) });
  });

  it.each<readonly [string, (dir: string) => Promise<unknown>, string]>([
    ['missing', (dir) => rm(join(dir, 'store.db')), 'store.db is missing or empty.'],
    ['of another version', async (dir) => alter(dir, 'PRAGMA user_version = 1'), 'store.db was written by another version.'],
    [
      'older than what was dropped',
      (dir) => cp(join(folder, 'early.db'), join(dir, 'store.db')),
      'store.db lacks records that were dropped',
    ],
    ['damaged', async (dir) => alter(dir, `UPDATE origin SET log = 'other'`), 'row of where it was made from is damaged'],
  ])('is refused when its store is %s, which stays as it is', async (_, change, why) => {
    const dir = await copy();
    await change(dir);
    const before = await stat(join(dir, 'store.db')).catch(() => undefined);
    await expect(openStorage(dir)).rejects.toThrow(why);
    expect((await stat(join(dir, 'store.db')).catch(() => undefined))?.size).toBe(before?.size);
  });
});
