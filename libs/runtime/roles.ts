import type { AnyTopic } from '#log';
import { apiKeys, gateways, keyDecisions, organizations, presence, sources } from '#topics';

/** One role: what runs as a process of its own in a cluster, as many times as there are replicas. */
interface RoleRow {
  /**
   * The paths that it answers to requests from outside; probes are answered by every role. `*` is one segment, and at the end it is
   * everything below. Where paths of two roles fit a request, the role that stands first in the table answers.
   */
  readonly paths: readonly string[];
  /** The compacted topics that it keeps in memory. */
  readonly views: readonly AnyTopic[];
  /** Whether it opens the stores: series, events, and which generation of them is live. */
  readonly stores: boolean;
  /** The most that its container may take, where that is more than a container of a role takes by default. */
  readonly limits?: { readonly cpus: number; readonly memory: string };
}

/** From these every role knows who calls. */
const callers = [organizations, apiKeys];

/**
 * The roles, one row each. From this table follow the router of `npm run cluster`, what each role opens, the deployments of the tests, and
 * what `npm run roles` writes: the services and the proxy of `infra/`, the projects of Nest, and the list of roles in `apps/embedded`.
 * The name of a role is that of its folder in `apps/`.
 */
const table = {
  ingress: { paths: ['/ingest'], views: callers, stores: false },
  processors: { paths: [], views: callers, stores: true, limits: { cpus: 2, memory: '1G' } },
  gateway: { paths: ['/ws/device', '/v1/sources/*/commands', '/v1/sources/*/*/stream'], views: callers, stores: false },
  query: { paths: ['/v1/*'], views: [...callers, sources, presence, gateways], stores: true },
  control: { paths: ['/*'], views: [...callers, keyDecisions], stores: false },
} satisfies Readonly<Record<string, RoleRow>>;

export type Role = keyof typeof table;

export const roleTable: Readonly<Record<Role, RoleRow>> = table;

export const roles = Object.keys(roleTable) as readonly Role[];

/** The file that starts a role, below the folder that the compiler writes to. */
export const entryOf = (role: Role): string => `apps/${role}/main.js`;
