import { join } from 'node:path';
import { initDataPlane, readConfig, type Role } from '#runtime';
import { RoleProcess } from '../cluster/role-process.js';
import { startFromJars, type JarServers } from '../cluster/servers.js';
import { freePorts } from '../servers/index.js';
import type { Charged } from './ingest-figures.js';
import { cpuSOf, peakMemoryMbOf } from './processes.js';
import { ownFolder, removeFolder, until } from './server-process.js';

/** Seconds between checkpoints, at which the rows of open windows are written. */
export const checkpointS = 10;
const settledMs = 180_000;
/** Each look costs the processors and Kafka 30 ms of CPU, which are measured too. Metrics are usually collected less often than this. */
const lookMs = 2_000;

interface ClusterOptions {
  /** One name for each replica. */
  readonly roles: readonly Role[];
  /** Puts something between the roles and QuestDB: resolves to the address that the roles use. */
  readonly before?: (questDbUrl: string) => Promise<string>;
}

interface Replica {
  readonly role: Role;
  readonly adminPort: number;
  readonly process: RoleProcess;
}

/** Kafka, a schema registry, QuestDB and some roles, each a process, on data of their own. */
export class Cluster {
  private constructor(
    readonly folder: string,
    /** The settings of the roles. */
    readonly environment: Readonly<Record<string, string>>,
    readonly key: string,
    readonly servers: JarServers,
    private readonly replicas: readonly Replica[],
    private readonly started: AsyncDisposableStack,
  ) {}

  static async start({ roles, before }: ClusterOptions): Promise<Cluster> {
    const started = new AsyncDisposableStack();
    try {
      const folder = ownFolder('bench-cluster');
      started.defer(() => removeFolder(folder));
      const servers = await startFromJars(folder, { keptSchemas: false });
      started.defer(() => servers.stop());
      const own = {
        ...servers.environment,
        HEADWATER_CACHE: join(folder, 'cache'),
        HEADWATER_CHECKPOINT_SECONDS: `${checkpointS}`,
        HEADWATER_LOG_LEVEL: 'warn',
      };
      const key = await initDataPlane(readConfig(own), () => undefined);
      const environment = { ...own, ...(before && { HEADWATER_QUESTDB_URL: await before(servers.questDbUrl) }) };
      const ports = await freePorts(2 * roles.length);
      const replicas = roles.map((role, at): Replica => {
        const [port, adminPort] = ports.slice(2 * at) as [number, number];
        return { role, adminPort, process: roleProcess(role, port, adminPort, environment) };
      });
      for (const { process: one } of replicas) {
        started.defer(() => one.stop());
        one.start();
      }
      await Promise.all(replicas.map((one) => one.process.ready()));
      return new Cluster(folder, environment, key!, servers, replicas, started);
    } catch (cause) {
      await started.disposeAsync();
      throw cause;
    }
  }

  get brokers(): string {
    return this.environment['HEADWATER_KAFKA_BROKERS']!;
  }

  get registryUrl(): string {
    return this.environment['HEADWATER_REGISTRY_URL']!;
  }

  /** A replica of a role as what requests go to and what is charged. */
  role(role: Role, at = 0): Charged {
    const { url, pid } = this.#replicas(role)[at]!.process;
    return { url, key: this.key, pid: pid!, cpuS: () => cpuSOf(pid!), peakMemoryMb: () => peakMemoryMbOf(pid!) };
  }

  kafkaCpuS(): number {
    return cpuSOf(this.servers.kafka.pid!);
  }

  questDbCpuS(): number {
    return cpuSOf(this.servers.questDb.pid!);
  }

  /** Resolves when the processors have committed all that is in the log: then readers see all of it, rollups too. */
  settled(): Promise<void> {
    return until(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${this.#replicas('processors')[0]!.adminPort}/metrics`);
        const lags = Array.from((await answer.text()).matchAll(/^headwater_group_lag_records\{.*\} (\d+)$/gm), ([, lag]) => Number(lag));
        return lags.length >= 3 && lags.every((lag) => lag === 0);
      },
      settledMs,
      lookMs,
    );
  }

  #replicas(role: Role): readonly Replica[] {
    return this.replicas.filter((one) => one.role === role);
  }

  stop(): Promise<void> {
    return this.started.disposeAsync();
  }
}

function roleProcess(role: Role, port: number, adminPort: number, environment: Readonly<Record<string, string>>): RoleProcess {
  const heard = (line: string): unknown => process.stderr.write(`[${role}] ${line}\n`);
  return new RoleProcess({ role, port, environment: { ...environment, HEADWATER_ADMIN_PORT: `${adminPort}` }, heard });
}
