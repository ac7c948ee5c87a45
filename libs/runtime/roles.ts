import { areas } from '#edge';
import type { AnyTopic } from '#log';
import {
  alertNotes,
  sourceAlerts,
  accounts,
  alertTargets,
  apiKeys,
  claims,
  commandStates,
  deliveries,
  gateways,
  invitations,
  keyUses,
  memberships,
  monitors,
  organizations,
  outcomes,
  presence,
  sessions,
  sessionUses,
  sources,
} from '#topics';

/** One role: what runs as a process of its own in a cluster, as many times as there are replicas. */
interface RoleRow {
  /**
   * The paths that the role answers to requests from outside. Every role answers probes. `*` stands for one segment, and at the end of a
   * path for everything below. When the paths of two roles fit a request, the role that comes first in the table answers.
   */
  readonly paths: readonly string[];
  /** The compacted topics that it keeps in memory. */
  readonly views: readonly AnyTopic[];
  /** Whether it opens the stores: series, events, and which generation of them is live. */
  readonly stores: boolean;
  /** Whether it does much without the stores: while they cannot be used it is ready, and has a warning. */
  readonly storesAreSpare?: true;
  /** What its container may use; for other roles, the default of the compose file. */
  readonly limits?: { readonly cpus: number; readonly memory: string };
}

/** Every role needs these to authenticate callers. */
const callers = [organizations, apiKeys];
/** What the processors decide about, beside that. */
const decided = [...new Set(areas.flatMap(({ topics }) => topics))].filter((topic) => !callers.some(({ name }) => name === topic.name));
/** A role needs these to know who has signed in. */
const visitors = [accounts, memberships, sessions, sessionUses];

/**
 * The roles, one row each. From this table follow the router of `npm run cluster`, what each role opens, the deployments of the tests, and
 * what `npm run roles` writes: the services and the proxy of `infra/`, the projects of Nest, and the list of roles in `apps/embedded`.
 * The name of a role is that of its folder in `apps/`.
 */
const table = {
  ingress: { paths: ['/ingest'], views: callers, stores: false },
  processors: { paths: [], views: [...callers, ...decided, sources, presence, gateways], stores: true, limits: { cpus: 2, memory: '1G' } },
  gateway: {
    paths: ['/ws/device', '/v1/sources/*/commands', '/v1/sources/*/*/stream'],
    views: [...callers, ...visitors, presence, gateways, commandStates],
    stores: false,
  },
  query: { paths: ['/v1/*'], views: [...callers, sources, presence, gateways], stores: true },
  control: {
    paths: ['/*'],
    views: [
      ...callers,
      ...visitors,
      invitations,
      claims,
      outcomes,
      keyUses,
      monitors,
      sourceAlerts,
      alertNotes,
      sources,
      presence,
      gateways,
      alertTargets,
      deliveries,
    ],
    stores: true,
    storesAreSpare: true,
  },
} satisfies Readonly<Record<string, RoleRow>>;

export type Role = keyof typeof table;

export const roleTable: Readonly<Record<Role, RoleRow>> = table;

export const roles = Object.keys(roleTable) as readonly Role[];

/** The file that starts a role, below the folder of what is built. */
export const entryOf = (role: Role): string => `bundled/${role}.js`;

export interface Route {
  /** As a row of the table of roles says it. */
  readonly path: string;
  readonly role: Role;
}

/** Which role answers which path, the first that fits. The last one fits every path. */
export const routes: readonly Route[] = roles.flatMap((role) => roleTable[role].paths.map((path) => ({ path, role })));

/**
 * A path of the table as a regular expression for decoded paths, in words that nginx and JavaScript both understand. No part of it can
 * match in two ways, so that a long path costs no more than its length.
 */
export function patternOf(path: string): string {
  const begins = path.endsWith('/*');
  return `^${(begins ? path.slice(0, -1) : path).replaceAll('*', '[^/]+')}${begins ? '' : '$'}`;
}

const patterns = routes.map(({ path, role }) => ({ pattern: new RegExp(patternOf(path)), role }));

/** The role that answers a request target as it was sent: perhaps with a host before its path, or with its letters percent-encoded. */
export function roleOf(target: string): Role {
  const path = decoded(target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0]!);
  return (patterns.find(({ pattern }) => pattern.test(path)) ?? routes.at(-1)!).role;
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
