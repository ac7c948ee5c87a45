import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RoleProcess } from '../../infra/cluster/role-process.js';
import { freePorts } from '../../infra/servers/index.js';
import { initDataPlane, openLog, readConfig, rebuildDataPlane, roles, startRouter, type Role, type Router } from '#runtime';
import { groups as registry } from '#topics';
import type { Deployment, Keys, Urls } from './deployment.js';
import { eventually } from './eventually.js';
import { send } from './http/send.js';
import { makeKeysIn } from './make-keys.js';
import { serverEnvironment } from './servers.js';

/** A second replica is there where two may disagree about what is whose. */
const fewRoles: readonly Role[] = [...roles, 'processors'];
export const twoOfEach: readonly Role[] = [...roles, ...roles];

export interface ClusterOptions {
  /** How roles are told of the servers. */
  readonly servers?: Readonly<Record<string, string>>;
  /** One name for each replica. */
  readonly replicas?: readonly Role[];
  /** More that the roles are told. */
  readonly settings?: Readonly<Record<string, string>>;
}

interface Replica {
  readonly role: Role;
  readonly adminPort: number;
  readonly process: RoleProcess;
}

/** Every role as a process, behind a router, with topics and tables of its own in servers that others use too. */
export class ClusterDeployment implements Deployment {
  private constructor(
    /** What the roles are told. */
    readonly environment: Readonly<Record<string, string>>,
    private readonly replicas: readonly Replica[],
    private readonly router: Router,
    readonly keys: Keys,
  ) {}

  static async start({
    servers = serverEnvironment(),
    replicas: all = fewRoles,
    settings,
  }: ClusterOptions = {}): Promise<ClusterDeployment> {
    const cache = await mkdtemp(join(tmpdir(), 'headwater-cache-'));
    const number = randomInt(1, 1_000_000);
    const environment = {
      ...servers,
      HEADWATER_KAFKA_PREFIX: `t${number}.`,
      HEADWATER_CACHE: cache,
      HEADWATER_TRUSTED_PROXIES: '127.0.0.1',
      HEADWATER_ALERT_NETWORKS: '127.0.0.1',
      HEADWATER_CHECKPOINT_SECONDS: '1',
      HEADWATER_LOG_LEVEL: 'warn',
      ...settings,
    };
    const config = readConfig(environment);
    const silent = (): void => {};
    await initDataPlane(config, silent, 1000 * number);
    const kafka = await openLog(config, silent);
    const keys = await makeKeysIn(kafka.log);
    await kafka.close();
    const ports = await freePorts(2 * all.length);
    const replicas = all.map((role, at) => {
      const [port, adminPort] = ports.slice(2 * at) as [number, number];
      const heard = (line: string): unknown => process.env['HEADWATER_SHOW_ROLES'] && process.stderr.write(`[${role}] ${line}\n`);
      return {
        role,
        adminPort,
        process: new RoleProcess({ role, port, environment: { ...environment, HEADWATER_ADMIN_PORT: `${adminPort}` }, heard }),
      };
    });
    const urls = (role: Role): string[] => replicas.filter((one) => one.role === role).map(({ process: { url } }) => url);
    const router = await startRouter({ targets: urls, host: '127.0.0.1', port: 0 });
    const deployment = new ClusterDeployment(environment, replicas, router, keys);
    await deployment.#start();
    return deployment;
  }

  get urls(): Urls {
    const { url } = this.router;
    return { api: url, ingest: url, app: url };
  }

  /** Stands before the names of its topics. */
  get topicPrefix(): string {
    return this.environment['HEADWATER_KAFKA_PREFIX']!;
  }

  /** The processes of a role. */
  processes(role: Role): readonly RoleProcess[] {
    return this.replicas.filter((one) => one.role === role).map(({ process }) => process);
  }

  async crash(): Promise<void> {
    await this.#stop('SIGKILL');
    await this.#start();
  }

  async restart(): Promise<void> {
    await this.#stop('SIGTERM');
    await this.#start();
  }

  settle(): Promise<void> {
    return eventually(async () => {
      const groups = await this.#lags('processors', 'headwater_group_lag_records');
      if (groups.length < registry.length * this.processes('processors').length)
        throw new Error(`only ${groups.length} lags of consumer groups are told`);
      const views = await Promise.all(roles.map((role) => this.#lags(role, 'headwater_view_lag_records')));
      const behind = [groups, ...views].flat().filter(([, records]) => records > 0);
      if (behind.length > 0) throw new Error(`behind the log: ${behind.map(([name, records]) => `${name} by ${records}`).join(', ')}`);
    }, 180_000);
  }

  async rebuild(): Promise<void> {
    await rebuildDataPlane(readConfig(this.environment), { told: () => {}, lags: () => {}, leaveMs: 1000 });
  }

  async stop(): Promise<void> {
    await this.router.close();
    await this.#stop('SIGTERM');
    await rm(this.environment['HEADWATER_CACHE']!, { recursive: true });
  }

  /** What each group or view lags by, as the figures of each replica of a role say. */
  async #lags(role: Role, metric: string): Promise<readonly (readonly [name: string, records: number])[]> {
    const line = new RegExp(`^${metric}\\{\\w+="([^"]+)"\\} (\\d+)$`, 'gm');
    const pages = this.replicas
      .filter((one) => one.role === role)
      .map(({ adminPort }) => send(`http://127.0.0.1:${adminPort}`, { path: '/metrics' }));
    return (await Promise.all(pages)).flatMap(({ text }) =>
      Array.from(text.matchAll(line), ([, name, records]) => [name!, Number(records)] as const),
    );
  }

  async #start(): Promise<void> {
    for (const one of this.replicas) one.process.start();
    await Promise.all(this.replicas.map((one) => one.process.ready()));
  }

  async #stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await Promise.all(this.replicas.map((one) => one.process.stop(signal)));
  }
}
