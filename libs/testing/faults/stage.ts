import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterDeployment, twoOfEach } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { verifySource, verifySources } from '../exactness/verify.js';
import { ApiClient } from '../http/client.js';
import { LoadProcess, type LoadReport } from '../load/load-process.js';
import type { Load } from '../load/load.js';
import { missingPoints } from '../load/missing-points.js';
import { Random } from '../random.js';
import { isLong } from './durations.js';
import { LiveLoad } from './live-load.js';
import { startOwnServers, type OwnServers } from './own-servers.js';
import { Watch, type Watched, type WatchedRole } from './watch.js';

/** How many requests were not answered as they should be, by role. */
export type Refused = Readonly<Record<'ingress' | WatchedRole, number>>;

const patienceMs = 120_000;
const small = { devices: isLong ? 20 : 10, pointsPerBody: 50, everyMs: 2000, rewritten: 0.05 };
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Something that breaks. */
export interface Trouble {
  /** How many devices have connections, and people who watch them; none when left out. */
  readonly live?: number;
  /** Breaks it and mends it. */
  readonly fault: (stage: Stage, load: LoadProcess, live: LiveLoad) => Promise<void>;
}

/** A cluster on servers of its own, which a test breaks under load. */
export class Stage {
  readonly client: ApiClient;
  #rows = 0;

  private constructor(
    readonly seed: number,
    readonly servers: OwnServers,
    readonly cluster: ClusterDeployment,
  ) {
    this.client = new ApiClient(() => cluster.urls, cluster.keys.own);
  }

  static async start(seed: number, brokers: 1 | 3, replicas = twoOfEach): Promise<Stage> {
    const servers = await startOwnServers(await mkdtemp(join(tmpdir(), 'headwater-faults-')), brokers);
    try {
      const cluster = await ClusterDeployment.start({ servers: servers.environment, replicas });
      return new Stage(seed, servers, cluster);
    } catch (error) {
      await servers.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    await this.servers.stop();
  }

  /**
   * Breaks something while devices send, and mends it. Then devices go on until each was acknowledged again, what they began is brought
   * to its end, the projections catch up, and every answer is compared with the ledger. Rejects with the first difference.
   */
  async underLoad(name: string, { fault, live: devices = 0 }: Trouble): Promise<Refused> {
    const load = await this.#load();
    const live = new LiveLoad(this.client, this.cluster.urls.ingest, devices, load.load);
    try {
      await Promise.all([this.acknowledges(load), live.goesOn()]);
      const { watched, brokenMs, sendingMs } = await this.#watched(async () => ({
        brokenMs: await timed(() => fault(this, load, live)),
        sendingMs: await timed(() => Promise.all([this.acknowledges(load), live.goesOn()])),
      }));
      const [report] = await Promise.all([load.stop(), live.stop()]);
      const settledMs = await timed(() => this.cluster.settle());
      this.#print(name, load, report, watched, [brokenMs, sendingMs, settledMs]);
      if (devices > 0) process.stderr.write(`${name}: ${live.told()}\n`);
      await this.#verify(load);
      await live.verify();
      return refusedBy(report, watched);
    } finally {
      load.kill();
      await live.end();
    }
  }

  /** Resolves when each device was acknowledged once more. */
  async acknowledges(load: LoadProcess): Promise<void> {
    const before = load.acknowledged().length;
    await eventually(() => {
      const devices = new Set(
        load
          .acknowledged()
          .slice(before)
          .map(({ device }) => device),
      );
      if (devices.size < load.load.devices) throw new Error(`only ${devices.size} devices were acknowledged since`);
    }, patienceMs);
  }

  /** Resolves when the service shows the bodies that were acknowledged last. */
  async shows(load: LoadProcess, count = 5): Promise<void> {
    for (const body of load.acknowledged().slice(-count)) {
      await eventually(async () => {
        const missing = await missingPoints(this.client, load.load, body);
        if (missing.length > 0) throw new Error(`of a body ${missing.length} points are missing, first ${JSON.stringify(missing[0])}`);
      }, patienceMs);
    }
  }

  /** Does something while the roles are asked questions. */
  async #watched<T>(work: () => Promise<T>): Promise<T & { readonly watched: Readonly<Record<WatchedRole, Watched>> }> {
    const watch = new Watch(this.client);
    try {
      const done = await work();
      return { ...done, watched: await watch.stop() };
    } finally {
      await watch.stop();
    }
  }

  async #load(): Promise<LoadProcess> {
    const row = this.#rows++;
    const load: Load = { ...small, seed: this.seed + row, prefix: `row${row}-`, beginMs: Date.now() };
    const ledger = join(await mkdtemp(join(tmpdir(), 'headwater-load-')), 'ledger');
    return new LoadProcess(load, this.cluster.urls.ingest, this.cluster.keys.own, ledger);
  }

  async #verify(load: LoadProcess): Promise<void> {
    const world = load.world();
    const random = new Random(load.load.seed);
    for (const [id, source] of world.sources) await verifySource(this.client, id, source, random);
    await verifySources(this.client, load.load.prefix, world);
  }

  #print(
    row: string,
    load: LoadProcess,
    { answers, longestMs }: LoadReport,
    { query, control }: Readonly<Record<WatchedRole, Watched>>,
    [brokenMs, sendingMs, settledMs]: readonly [number, number, number],
  ): void {
    const { length } = load.acknowledged();
    const line = [
      `${row}: broken for ${seconds(brokenMs)}, all devices acknowledged ${seconds(sendingMs)} later, lag 0 ${seconds(settledMs)} after the last`,
      `${length * load.load.pointsPerBody} points; ingest ${JSON.stringify(answers)}, longest ${seconds(longestMs)}`,
      `query refused ${JSON.stringify(query.refused)} of ${query.asked}, longest ${seconds(query.longestMs)}`,
      `control refused ${JSON.stringify(control.refused)} of ${control.asked}, longest ${seconds(control.longestMs)}`,
    ].join('; ');
    process.stderr.write(`${line}\n`);
  }
}

/** Throws when a role answered in a way that it never should. */
function refusedBy({ answers }: LoadReport, { query, control }: Readonly<Record<WatchedRole, Watched>>): Refused {
  const wrong = [...query.wrong, ...control.wrong];
  if (wrong.length > 0) throw new Error(`${wrong.length} wrong answers: ${wrong.slice(0, 5).join('; ')}`);
  const { '200': _, ...others } = answers;
  const unanswered = Object.keys(others).filter((how) => how !== '503' && how !== '429');
  if (unanswered.length > 0) throw new Error(`requests of devices ended with ${unanswered.join(', ')}`);
  return { ingress: sum(others), query: sum(query.refused), control: sum(control.refused) };
}

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((total, count) => total + count, 0);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}
