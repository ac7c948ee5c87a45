import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entry, on, tombstone } from '#log';
import { rollupIntervals, type Source } from '#model';
import type { Difference } from '#stores';
import { aSeriesHistory, anEventHistory, processorsOf, Random } from '#testing';
import { events, points, seriesGroup, sources } from '#topics';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { openStorage } from '../storage.js';
import { damageBlock } from '../test-folder.js';
import { catchUp } from './catch-up.js';
import { rebuild } from './rebuild.js';
import { verify, type Verification } from './verify.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const histories = 3;
/** For tests that do the same many times. */
const patienceMs = 300_000;
const flips = Number(process.env['FLIPS'] ?? 4);
const kills = Number(process.env['KILLS'] ?? 4);
const everything = { startMs: 0, endMs: 1e15 };

/** Appends random histories of points and events, each of its own organization, and projects them in pieces. */
async function live(dir: string): Promise<void> {
  const storage = await openStorage(dir);
  for (let at = 0; at < histories; at++) {
    const random = new Random(seed + at);
    const orgId = `o${at}`;
    const batches = [
      ...aSeriesHistory(random, orgId, 0).records.map(({ value }) => entry(points, value)),
      ...anEventHistory(random, orgId).deliveries.map(({ value }) => entry(events, value)),
    ];
    await storage.log.append(random.shuffled(batches));
    if (random.chance(0.7)) await catchUp(storage.log, processorsOf(storage));
  }
  await catchUp(storage.log, processorsOf(storage));
  await storage.close();
}

/** Everything that the stores of a folder answer. */
async function dump(dir: string): Promise<unknown> {
  const storage = await openStorage(dir);
  const answers: unknown[] = [];
  try {
    for (let at = 0; at < histories; at++) {
      for (const sourceId of ['s', 's-2', 's1', 'S2', 's.3', 's10']) {
        const orgId = `o${at}`;
        const query = { orgId, sourceId, metrics: undefined, window: everything, limit: 1e6 };
        answers.push(await storage.series.metricNames(orgId, sourceId), await storage.series.raw(query));
        for (const interval of rollupIntervals) {
          const { series } = await storage.series.buckets({ ...query, interval });
          // The last bits of an average depend on how the store came to hold its points.
          answers.push(series.map(({ metric, timestampMs, count, min, max }) => ({ metric, timestampMs, count, min, max })));
        }
        answers.push(await storage.events.window(orgId, sourceId, everything, 1e6));
      }
    }
  } finally {
    await storage.close();
  }
  return answers;
}

describe(`a stopped server's data folder (SEED=${seed})`, () => {
  let folder: string;
  let original: string;
  let answers: unknown;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-offline-'));
    original = join(folder, 'original');
    await live(original);
    answers = await dump(original);
  });
  afterAll(() => rm(folder, { recursive: true }));

  let copies = 0;
  const copy = async (): Promise<string> => {
    const dir = join(folder, `copy-${copies++}`);
    await cp(original, dir, { recursive: true });
    return dir;
  };
  const check = (dir: string): Promise<Verification> => verify(dir, projectorsOf);

  it('has no differences, and all of it was compared', async () => {
    const { first, ...counts } = await check(await copy());
    expect(first).toEqual([]);
    expect(counts).toMatchObject({ differences: 0, unreadable: 0 });
    expect(Math.min(counts.sources, counts.series, counts.rows, counts.events)).toBeGreaterThan(0);
    await expect(verify(await copy(), projectorsOf, { maxPoints: 20 })).resolves.toEqual({ ...counts, first });
  });

  it('answers the same after a rebuild, and after another', async () => {
    const dir = await copy();
    await rebuild(dir, projectorsOf);
    await expect(dump(dir)).resolves.toEqual(answers);
    await rebuild(dir, projectorsOf);
    await expect(dump(dir)).resolves.toEqual(answers);
    await expect(check(dir)).resolves.toMatchObject({ differences: 0 });
  });

  const stands = /cannot be written, and the old one stands\. A rebuild needs about [\d,]+ MiB of free space/;

  it('keeps its old store when the new one is not all in its own file', async () => {
    const dir = await copy();
    let reader: DatabaseSync | undefined;
    // A reader in the middle keeps the write-ahead file from being emptied, as a full disk does.
    const hold = (): void => {
      if (reader) return;
      reader = new DatabaseSync(join(dir, 'store.db.rebuilding'));
      reader.exec('BEGIN; SELECT count(*) FROM event');
    };
    await expect(rebuild(dir, projectorsOf, { onProgress: hold })).rejects.toThrow(stands);
    reader!.close();
    expect((await readdir(dir)).filter((name) => name.includes('rebuilding'))).toEqual([]);
    await expect(dump(dir)).resolves.toEqual(answers);
    await rebuild(dir, projectorsOf);
    await expect(dump(dir)).resolves.toEqual(answers);
  });

  it('is not rebuilt where the disk has less room than the store takes', async () => {
    const dir = await copy();
    const { size } = await stat(join(dir, 'store.db'));
    await expect(rebuild(dir, projectorsOf, { freeBytes: () => size - 1 })).rejects.toThrow(stands);
    await expect(dump(dir)).resolves.toEqual(answers);
  });

  // Elsewhere a process cannot be kept from writing long files.
  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('keeps its old store when the disk is full in the middle', async () => {
    const dir = await copy();
    const { size } = await stat(join(dir, 'store.db'));
    const child = fileURLToPath(new URL('../../testing/rebuild-process.js', import.meta.url));
    const limited = `ulimit -S -f ${Math.floor(size / 1024)}; exec "$0" "$1" "$2"`;
    const running = promisify(execFile)('sh', ['-c', limited, process.execPath, child, dir]);
    await expect(running).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(stands) });
    await expect(dump(dir)).resolves.toEqual(answers);
  });

  it.each(['nothing', 'a file of rubbish'])('gets a store from %s', async (instead) => {
    const dir = await copy();
    await rm(join(dir, 'store.db'));
    if (instead !== 'nothing') await cp(join(dir, 'log', '0000000000000000.journal'), join(dir, 'store.db-wal'));
    if (instead !== 'nothing') await cp(new URL(import.meta.url).pathname, join(dir, 'store.db'));
    await rebuild(dir, projectorsOf);
    await expect(dump(dir)).resolves.toEqual(answers);
  });

  it('needs nothing projected again after a rebuild', async () => {
    const dir = await copy();
    await rebuild(dir, projectorsOf);
    const storage = await openStorage(dir);
    const taken: unknown[] = [];
    for (const one of projectorsOf({ ...storage, suffix: '' })) {
      const inputs = one.inputs.map(({ topic }) => on(topic, async (records) => void taken.push(...records)));
      await catchUp(storage.log, [{ ...one, inputs }]);
    }
    await storage.close();
    expect(taken).toEqual([]);
  });

  it('tells how far a rebuild and a verification have come', async () => {
    const dir = await copy();
    const seen: string[] = [];
    await rebuild(dir, projectorsOf, { onProgress: ({ step, done, total }) => void seen.push(`${step} ${done === total}`) });
    await verify(dir, projectorsOf, { onProgress: ({ step, done, total }) => void seen.push(`${step} ${done === total}`) });
    expect(new Set(seen.filter((text) => text.endsWith('true')))).toEqual(new Set(['rebuild true', 'count true', 'compare true']));
  });

  it('is not touched while a server has it', async () => {
    const dir = await copy();
    const storage = await openStorage(dir);
    await expect(rebuild(dir, projectorsOf)).rejects.toThrow('is in use');
    await expect(check(dir)).rejects.toThrow('is in use');
    await storage.close();
  });

  it('is brought to the end of its log before it is compared, and nothing is appended to the log', async () => {
    const dir = await copy();
    const storage = await openStorage(dir);
    const history = anEventHistory(new Random(seed), 'late');
    await storage.log.append(history.deliveries.map(({ value }) => entry(events, value)));
    const { head } = storage.log;
    await storage.crash();
    await expect(check(dir)).resolves.toMatchObject({ differences: 0 });
    await rebuild(dir, projectorsOf);
    await expect(check(dir)).resolves.toMatchObject({ differences: 0 });
    const after = await openStorage(dir);
    expect(after.log.head).toBe(head);
    await after.close();
  });

  it.each([
    ['first heard too late', 1, false],
    ['first heard too early', -1, false],
    ['never heard', 0, true],
  ] as const)('has a difference when a source is said to be %s', async (_, byMs, isGone) => {
    const dir = await copy();
    const storage = await openStorage(dir);
    const view = storage.views.open(sources);
    await view.ready;
    const [[key, source]] = [...view.scan('')] as [readonly [string, Source]];
    const moved = { ...source, firstReceivedMs: source.firstReceivedMs + byMs };
    await storage.log.append([isGone ? tombstone(sources, key) : entry(sources, moved)]);
    await storage.close();
    const { first } = await check(dir);
    expect(first).toMatchObject([{ what: 'source', sourceId: source.sourceId }]);
  });

  it('keeps its old store when the rebuild fails', async () => {
    const dir = await copy();
    const failing = {
      group: seriesGroup,
      inputs: [on(points, () => Promise.reject(new Error('no')))],
      checkpoint: () => Promise.resolve(),
    };
    await expect(rebuild(dir, () => [failing])).rejects.toThrow('no');
    await expect(dump(dir)).resolves.toEqual(answers);
    expect(await readdir(dir)).not.toContain('store.db.rebuilding');
  });

  it(
    'has one whole store, whenever a rebuild is killed',
    async () => {
      const dir = await copy();
      const child = new URL('../../testing/rebuild-process.js', import.meta.url);
      const random = new Random(seed);
      let killed = 0;
      for (let attempt = 0; attempt < kills; attempt++) {
        const running = fork(child, [dir], { stdio: 'ignore' });
        const exited = once(running, 'exit');
        await Promise.race([once(running, 'message'), exited]);
        await pause(random.whole(0, 120));
        running.kill('SIGKILL');
        const [, signal] = (await exited) as [unknown, NodeJS.Signals | null];
        if (signal === 'SIGKILL') killed++;
        await expect(dump(dir)).resolves.toEqual(answers);
      }
      expect(killed).toBeGreaterThan(0);
      await rebuild(dir, projectorsOf);
      await expect(dump(dir)).resolves.toEqual(answers);
      expect((await readdir(dir)).filter((name) => name.includes('rebuilding'))).toEqual([]);
    },
    patienceMs,
  );

  const harm: readonly [string, string, Difference['what']][] = [
    ['an event with another value', `UPDATE event SET value = value || '!' WHERE id = (SELECT min(id) FROM event)`, 'damage'],
    ['an event with another time', 'UPDATE event SET time = time + 1 WHERE id = (SELECT min(id) FROM event)', 'damage'],
    ['an event that is gone', 'DELETE FROM event WHERE id = (SELECT min(id) FROM event)', 'events'],
    ['an event of a source that the log does not know', `INSERT INTO event_source(org, source) VALUES ('o', 'nobody')`, 'source'],
    ['a block that is gone', 'DELETE FROM block WHERE rowid = (SELECT min(rowid) FROM block WHERE kind = 0)', 'damage'],
    ['a block with another byte', damageBlock('SELECT min(rowid) FROM block'), 'damage'],
    ['the newest run gone', 'DELETE FROM run WHERE id = (SELECT max(id) FROM run)', 'damage'],
    ['a source with another name', `UPDATE source SET name = 'renamed' WHERE id = (SELECT min(id) FROM source)`, 'damage'],
  ];
  it.each(harm)('has differences with %s', async (_, statement, what) => {
    const dir = await copy();
    const db = new DatabaseSync(join(dir, 'store.db'));
    db.exec(statement);
    db.close();
    const { first, differences } = await check(dir);
    expect(first.map((one) => one.what)).toContain(what);
    expect(differences).toBeGreaterThanOrEqual(first.length);
  });

  it(
    'has differences whenever a byte of the store is another one and an answer too',
    async () => {
      const { size } = await stat(join(original, 'store.db'));
      const random = new Random(seed);
      for (let flip = 0; flip < flips; flip++) {
        const dir = await copy();
        const at = random.whole(100, size - 1);
        await using file = await open(join(dir, 'store.db'), 'r+');
        const byte = Buffer.alloc(1);
        await file.read(byte, 0, 1, at);
        byte[0]! ^= 1 << random.whole(0, 7);
        await file.write(byte, 0, 1, at);
        const changed = JSON.stringify(await dump(dir).catch((error: unknown) => error)) !== JSON.stringify(answers);
        const { differences } = await check(dir);
        expect({ at, missed: changed && differences === 0 }).toEqual({ at, missed: false });
      }
    },
    patienceMs,
  );
});
