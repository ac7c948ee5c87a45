import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openStores, readConfig, rebuildDataPlane, withLog, type Config } from '#runtime';
import { projections } from '#topics';
import { run, type Ran } from '../../../apps/cli/test-run.js';
import { ClusterDeployment, twoOfEach } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { ApiClient, type QueryJson } from '../http/client.js';
import { Random } from '../random.js';
import { describeOnServers } from '../servers.js';
import { history } from './history.js';
import { verifySource } from './verify.js';
import { World, type SentBody } from './world.js';

const seed = Number(process.env['GENERATIONS_SEED'] ?? Math.floor(Math.random() * 1e9));
const beganMs = Date.now();
/** Verify waits for groups to come and go, and a repair for readers. */
const patienceMs = 360_000;
/** Far from all that random histories tell. */
const quietMs = Date.UTC(2001, 0, 3, 4, 5);
const iso = (ms: number): string => new Date(ms).toISOString();

type Row = readonly [what: string, ...cells: readonly unknown[]];
interface FoundJson {
  readonly differences: number;
  readonly repaired: boolean;
  readonly first: readonly unknown[];
}

describeOnServers(`projections that are made again beside the live ones: GENERATIONS_SEED=${seed} npm run jest -- generations`, () => {
  const random = new Random(seed);
  const world = new World();
  let deployment: ClusterDeployment;
  let config: Config;
  let client: ApiClient;
  let org: string;
  beforeAll(async () => {
    // Few partitions: all of it is written several times.
    deployment = await ClusterDeployment.start({ replicas: twoOfEach, settings: { HEADWATER_QUESTDB_PARTITION: 'MONTH' } });
    config = readConfig(deployment.environment);
    client = new ApiClient(() => deployment.urls, deployment.keys.own);
    ({ org_id: org } = await eventually(() => client.json<{ org_id: string }>('/api/auth/verify-key')));
    await send({
      source_id: 'press',
      points: [
        { metric: 'temp', value: 1, timestamp: quietMs / 1000 },
        { metric: 'temp', value: 2, timestamp: quietMs / 1000 + 30 },
        { metric: 'door', class: 'event', value: 'open', timestamp: quietMs / 1000 },
      ],
    });
    for (const body of histories(0, 4)) await send(body);
    await deployment.settle();
  }, 300_000);
  afterAll(() => deployment.stop());

  const histories = (from: number, count: number): SentBody[] =>
    Array.from({ length: count }, (_, at) => history(seed + from + at, 'x', beganMs)).flatMap(({ bodies }) =>
      bodies.map(({ body }) => body),
    );

  async function send(body: SentBody): Promise<void> {
    await eventually(() => client.accepted(body));
    world.accept(body);
  }
  async function asTold(): Promise<void> {
    for (const [id, source] of world.sources) await verifySource(client, id, source, random);
  }
  const verify = (...flags: readonly string[]): Promise<Ran> => run(['verify', '--json', ...flags], { env: deployment.environment });
  const foundBy = ({ stdout }: Ran): FoundJson => JSON.parse(stdout) as FoundJson;

  const recorded = (): Promise<{ readonly live: number; readonly building: number | null }> =>
    withLog(config, async ({ views }) => {
      const view = views.open(projections);
      await view.ready;
      return view.get('telemetry')!;
    });
  async function sql<R extends Row | readonly unknown[]>(query: string): Promise<readonly R[]> {
    const answer = await fetch(`${config.questDbUrl}/exec?query=${encodeURIComponent(query)}`);
    if (!answer.ok) throw new Error(`${query}: ${await answer.text()}`);
    return ((await answer.json()) as { dataset?: R[] }).dataset ?? [];
  }
  /** Writes as nobody should, and resolves when it can be read. */
  async function plant(table: string, statement: string): Promise<void> {
    await sql(statement);
    await eventually(async () => {
      const [numbers] = await sql<[number, number]>(`SELECT writerTxn, sequencerTxn FROM wal_tables() WHERE name = '${table}'`);
      expect(numbers![0]).toBe(numbers![1]);
    });
  }
  /** The numbers of the generations of this deployment that have tables, counted from its first one. */
  async function generationsWithTables(): Promise<number[]> {
    const { live } = await recorded();
    const names = await sql<[string]>(`SELECT table_name FROM tables() WHERE table_name LIKE '%_g${Math.floor(live / 1000)}%'`);
    const numbers = names.map(([name]) => Number(name.split('_g')[1]));
    return [...new Set(numbers)].filter((number) => Math.floor(number / 1000) === Math.floor(live / 1000));
  }
  async function dump(generation: number): Promise<Row[]> {
    const stores = await openStores(config, Date.now);
    const rows: Row[] = [];
    for await (const { what, row } of stores.rows(generation)) rows.push([what, ...row]);
    await stores.close();
    return rows;
  }

  it(
    'show what somebody has changed, and mend it',
    async () => {
      const { live } = await recorded();
      const when = `ts >= '${iso(quietMs - 3_600_000)}' AND ts < '${iso(quietMs + 3_600_000)}'`;
      const ofPress = `org = '${org}' AND source = 'press' AND ${when}`;
      const ghost = `'${org}', 'ghost', 'temp'`;
      await plant(
        `points_g${live}`,
        `INSERT INTO points_g${live} (ts, org, source, metric, value) VALUES ('${iso(quietMs)}', ${ghost}, 5)`,
      );
      await plant(`metrics_g${live}`, `INSERT INTO metrics_g${live} (ts, org, source, metric) VALUES (0, ${ghost})`);
      await plant(`rollup_1h_g${live}`, `UPDATE rollup_1h_g${live} SET count = 4 WHERE ${ofPress}`);
      await plant(`rollup_1d_g${live}`, `ALTER TABLE rollup_1d_g${live} DROP PARTITION LIST '2001'`);
      await plant(`events_g${live}`, `UPDATE events_g${live} SET value = 'forged' WHERE ${ofPress}`);

      const at = (sourceId: string, metric: string): object => ({ org_id: org, source_id: sourceId, metric });
      const hourMs = Math.floor(quietMs / 3_600_000) * 3_600_000;
      const dayMs = Date.UTC(2001, 0, 3);
      const count2 = 'count 2, min 1, max 2, avg 1.5';
      const planted = [
        { what: 'raw', ...at('ghost', 'temp'), timestamp_ms: quietMs, expected: 'nothing', found: 'value 5' },
        { what: '1h', ...at('press', 'temp'), timestamp_ms: hourMs, expected: count2, found: 'count 4, min 1, max 2, avg 0.75' },
        { what: '1d', ...at('press', 'temp'), timestamp_ms: dayMs, expected: count2, found: 'nothing' },
        { what: 'metric names', ...at('ghost', 'temp'), expected: 'nothing', found: 'the name' },
        {
          what: 'events',
          ...at('press', 'door'),
          timestamp_ms: quietMs,
          expected: expect.stringMatching(/^open, received \S+, place \d+$/),
          found: expect.stringMatching(/^forged, received \S+, place \d+$/),
        },
      ];
      const found = await verify();
      expect([foundBy(found).first, foundBy(found).repaired, found.code]).toEqual([planted, false, 1]);
      expect(found.stderr).toContain('5 differences: `headwater verify --repair`');
      expect(await recorded()).toMatchObject({ live, building: null, projection: 'telemetry' });

      // Readers are moved some time before the command ends.
      const mending = verify('--repair');
      const after = await eventually(async () => {
        const now = await recorded();
        if (now.live === live) throw new Error('readers were not moved');
        return now;
      }, 200_000);
      await asTold();
      const mended = await mending;
      expect([foundBy(mended).first, foundBy(mended).repaired, mended.code]).toEqual([planted, true, 0]);
      expect(after.live).toBeGreaterThan(live);
      expect(await generationsWithTables()).toEqual([after.live]);
    },
    patienceMs,
  );

  it(
    'are found to be the same afterwards, while devices go on sending',
    async () => {
      const before = await recorded();
      const sending = (async () => {
        for (const body of histories(4, 4)) await send(body);
      })();
      const [ran] = await Promise.all([verify(), sending]);
      expect([foundBy(ran).first, ran.code]).toEqual([[], 0]);
      expect(await recorded()).toMatchObject({ live: before.live, building: null });
      expect(await generationsWithTables()).toEqual([before.live]);
    },
    patienceMs,
  );

  it(
    'are the same rows, and each reader sees the one or the other, never a mix',
    async () => {
      await deployment.settle();
      const { live } = await recorded();
      const rows = await dump(live);
      const marks = ['a', 'b'].map((metric) => `('${iso(quietMs)}', '${org}', 'mark', '${metric}'`);
      const insert = (table: string, columns: string, cells: string): Promise<void> =>
        plant(
          table,
          `INSERT INTO ${table} (ts, org, source, metric, ${columns}) VALUES ${marks.map((mark) => `${mark}, ${cells})`).join()}`,
        );
      await insert(`points_g${live}`, 'value', '1');
      await insert(`rollup_1m_g${live}`, 'min, max, sum, count', '1, 1, 1, 1');

      const over = new AbortController();
      /** What one replica shows, from now until it is over. */
      const seenBy = async (url: string): Promise<string[][]> => {
        const replica = new ApiClient(() => ({ api: url, ingest: url, app: url }), deployment.keys.own);
        const window = `start=${iso(quietMs)}&end=${iso(quietMs + 60_000)}`;
        const seen: string[][] = [];
        // Until it has moved too.
        while (!over.signal.aborted || seen.at(-1)?.length !== 0)
          for (const interval of ['raw', '1m']) {
            const path = `/v1/sources/mark/metrics/query?${window}&interval=${interval}&metrics=a,b`;
            const { series } = await replica.json<QueryJson>(path);
            seen.push(Object.keys(series).filter((metric) => series[metric]!.timestamp_ms.length > 0));
          }
        return seen;
      };
      const telling = async (): Promise<void> => {
        while (!over.signal.aborted) {
          const [id, source] = random.pick([...world.sources]);
          await verifySource(client, id, source, random);
        }
      };
      const rebuilding = rebuildDataPlane(config, { told: () => {}, lags: () => {}, leaveMs: 3000 }).finally(() => over.abort());
      const seenByEach = Promise.all(deployment.processes('query').map(({ url }) => seenBy(url)));
      const [next, seenByAll] = await Promise.all([rebuilding, seenByEach, telling()]);

      for (const seen of seenByAll) {
        const moved = seen.findIndex((metrics) => metrics.length === 0);
        expect(moved).toBeGreaterThan(0);
        expect(seen).toEqual(seen.map((_, at) => (at < moved ? ['a', 'b'] : [])));
      }
      const [exact, sums] = apart(await dump(next));
      const [expected, expectedSums] = apart(rows);
      expect(rows.length).toBeGreaterThan(100);
      expect(exact).toEqual(expected);
      expect(sums.filter(([avg, slack], at) => Math.abs(avg - expectedSums[at]![0]) > slack)).toEqual([]);
    },
    patienceMs,
  );
});

/** What must be equal to the bit; and of each bucket its avg and how near it must be. */
function apart(rows: readonly Row[]): [exact: Row[], averages: [avg: number, slack: number][]] {
  const isBucket = ([what]: Row): boolean => ['1m', '1h', '1d'].includes(what);
  const buckets = rows.filter(isBucket);
  const averages = buckets.map((row): [number, number] => {
    const [min, max, sum, count] = row.slice(5) as [number, number, number, number];
    return [sum / count, 1e-9 * Math.max(Math.abs(min), Math.abs(max))];
  });
  return [rows.map((row) => (isBucket(row) ? [row[0], ...row.slice(1).with(6, null)] : row)), averages];
}
