import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { forever, OperatorError, rollupIntervals, type PointBatch } from '#model';
import type { Placed } from '#stores';
import { describeOnOwnServers, eventually, isLong, ownQuestDb, until } from '#testing';
import type { Partitioning } from './tables.js';
import { openQuestDb, type QuestDb } from './quest-db.js';
import { Sql } from './sql.js';

type Server = Awaited<ReturnType<typeof ownQuestDb>>;

const minute = 60_000;
const dayMs = 86_400_000;
const everything = { startMs: 0, endMs: 1e15 };
const longMs = 300_000;
/** A partition costs about the same however few rows it has, so that days take minutes. */
const importedBy: readonly Partitioning[] = isLong ? ['MONTH', 'DAY'] : ['MONTH'];
const importedDays = isLong ? 10_000 : 3_000;

describeOnOwnServers('QuestDB in trouble', () => {
  let server: Server;
  let db: QuestDb;
  let generation = 0;
  let offset = 0;
  beforeAll(async () => {
    server = await ownQuestDb({ QDB_DEV_MODE_ENABLED: 'true' });
  }, longMs);
  afterEach(() => db.close(), longMs);
  afterAll(() => server.stop(), longMs);

  /** Each test has tables of its own, in one server that it leaves running. */
  async function open(partitioning: Partitioning): Promise<void> {
    db = openQuestDb({ ...server, clock: Date.now, partitioning });
    await db.ensure(++generation);
  }

  const write = (orgId: string, value: number, ...timestampMs: readonly number[]): Promise<void> => {
    const run = {
      metric: 'm',
      tags: '',
      timestampMs: Float64Array.from(timestampMs),
      value: new Float64Array(timestampMs.length).fill(value),
    };
    const batch: PointBatch = { orgId, sourceId: 's', receivedMs: Date.now(), series: [run] };
    const placed: Placed<PointBatch> = { partition: 0, offset: offset++, value: batch };
    return db.open(generation).series.write([placed], forever);
  };
  const values = async (orgId: string): Promise<number[]> => {
    const { series } = await db
      .open(generation)
      .series.raw({ orgId, sourceId: 's', metrics: undefined, window: everything, limit: 10_000 });
    return Array.from(series[0]?.value ?? []);
  };
  const counts = async (orgId: string): Promise<number[]> =>
    Promise.all(
      rollupIntervals.map(async (interval) => {
        const query = { orgId, sourceId: 's', metrics: undefined, window: everything, limit: 20_000, interval };
        const { series } = await db.open(generation).series.buckets(query);
        return series[0]!.count.reduce((sum, count) => sum + count, 0);
      }),
    );

  it(
    'loses and doubles nothing when it is killed under writes and comes back',
    async () => {
      await open('DAY');
      const startMs = Date.now() - 5 * minute;
      const writes = 300;
      const writing = (async () => {
        for (let at = 0; at < writes; at++) {
          await write('o', at, startMs + at * 1000);
          await db
            .open(generation)
            .series.flush()
            .catch(() => undefined);
          if (at === 20) void server.server.kill('SIGKILL');
        }
      })();
      await until('readers are told', () =>
        values('o').then(
          () => false,
          (error: { code: string }) => error.code === 'store_unavailable',
        ),
      );
      await until('the operator is told', () => db.health() !== undefined);
      await server.server.start();
      await writing;
      await eventually(() => db.open(generation).series.checkpoint());
      expect(await eventually(() => values('o'))).toEqual(Array.from({ length: writes }, (_, at) => at));
      expect(await eventually(() => counts('o'))).toEqual(rollupIntervals.map(() => writes));
      expect(db.health()).toBeUndefined();
    },
    longMs,
  );

  it(
    'shows the later value in the end when it stands still while both are written',
    async () => {
      await open('DAY');
      const now = Date.now();
      for (let at = 0; at < 4; at++) {
        await write('o', 2 * at, now);
        const flushed = db
          .open(generation)
          .series.flush()
          .catch(() => undefined);
        await server.server.kill('SIGSTOP');
        await write('o', 2 * at + 1, now);
        await until('readers are told', () =>
          values('o').then(
            () => false,
            () => true,
          ),
        );
        await server.server.kill('SIGCONT');
        await flushed;
        await eventually(() => db.open(generation).series.checkpoint());
        expect(await eventually(() => values('o'))).toEqual([2 * at + 1]);
      }
    },
    longMs,
  );

  it(
    'is told of when it has suspended a table, which goes on',
    async () => {
      await open('DAY');
      const sql = new Sql(server.pgUrl);
      await write('o', 1, Date.now());
      await db.open(generation).series.flush();
      await sql.run([`ALTER TABLE points_g${generation} SUSPEND WAL`]);
      await write('o', 2, Date.now() + 1000);
      const flushed = db
        .open(generation)
        .series.flush()
        .catch(() => undefined);
      await until('the operator is told', () => db.health()?.includes(`suspended the table points_g${generation}`) ?? false);
      await flushed;
      await eventually(async () => expect(await values('o')).toEqual([1, 2]));
      await until('all is well', () => db.health() === undefined);
      await sql.close();
    },
    longMs,
  );

  it(
    'answers readers while two tables do not show what they took',
    async () => {
      const usual = server;
      server = await ownQuestDb({ QDB_CAIRO_WAL_APPLY_ENABLED: 'false', QDB_SHARED_NETWORK_WORKER_COUNT: '2' });
      try {
        await open('DAY');
        await db.ensure(generation + 1);
        for (const _ of ['in one', 'in the next']) {
          await write('o', 1, Date.now());
          db.open(generation++)
            .series.flush()
            .catch(() => undefined);
        }
        const sql = new Sql(server.pgUrl);
        const taken = 'SELECT count() FROM wal_tables() WHERE sequencerTxn > writerTxn';
        await until('both have taken rows', async () => (await sql.rows(taken))[0]![0] === 2);
        generation--;
        for (let times = 0; times < 100; times++) await expect(values('o')).resolves.toEqual([]);
        await sql.close();
        await db.close();
      } finally {
        await server.stop();
        server = usual;
      }
    },
    longMs,
  );

  it(
    'is not written to while it may lose what it accepts, is once it may not, and is at once when that is agreed to',
    async () => {
      const usual = server;
      const unsafe = await ownQuestDb({ QDB_CAIRO_COMMIT_MODE: 'nosync' });
      try {
        server = unsafe;
        await expect(open('DAY')).rejects.toThrow(/cairo\.commit\.mode is nosync\. Start it with QDB_CAIRO_COMMIT_MODE=sync/);
        await expect(db.ensure(generation)).rejects.toBeInstanceOf(OperatorError);
        const agreed = openQuestDb({ ...server, clock: Date.now, commit: 'any' });
        await agreed.ensure(generation);
        expect(agreed.whyNotWritten()).toBeUndefined();
        await expect(write('o', 1, Date.now())).rejects.toMatchObject({ code: 'store_unavailable' });
        expect(db.whyNotWritten()).toContain('HEADWATER_QUESTDB_COMMIT=any');
        await expect(values('o')).resolves.toEqual([]);
        await agreed.close();
        await unsafe.server.kill('SIGKILL');
        await until('it is not known while there is no answer', () => db.whyNotWritten()?.startsWith('QuestDB does not say') ?? false);
        server = await ownQuestDb({}, { ports: portsOf(unsafe) });
        await until('it may be written to', () => db.whyNotWritten() === undefined);
        await db.ensure(generation);
        await eventually(() => write('o', 1, Date.now()));
        await db.open(generation).series.checkpoint();
        await expect(values('o')).resolves.toEqual([1]);
        await db.close();
        await server.stop();
      } finally {
        await unsafe.stop();
        server = usual;
      }
    },
    longMs,
  );

  it.each(importedBy)(
    `shows the points of others while one body brings ${importedDays} days, partitioned by %s`,
    async (partitioning) => {
      await open(partitioning);
      const days = Array.from({ length: importedDays }, (_, day) => day * dayMs + 1);
      await write('importer', 1, ...days);
      const progress = { done: false };
      const imported = eventually(() => db.open(generation).series.checkpoint(), 3 * longMs).finally(() => (progress.done = true));
      let seen = 0;
      while (!progress.done) {
        const value = ++seen;
        await write('other', value, Date.now());
        await eventually(async () => expect((await values('other')).at(-1)).toBe(value));
      }
      await imported;
      await db.open(generation).series.checkpoint();
      await expect(counts('importer')).resolves.toEqual(rollupIntervals.map(() => importedDays));
      await expect(counts('other')).resolves.toEqual(rollupIntervals.map(() => seen));
      expect(seen).toBeGreaterThan(1);
    },
    4 * longMs,
  );
});

const portsOf = ({ httpUrl, pgUrl }: Server): [http: number, pg: number] => [Number(new URL(httpUrl).port), Number(new URL(pgUrl).port)];
