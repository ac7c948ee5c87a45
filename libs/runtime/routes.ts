import { roles, roleTable, type Role } from './roles.js';

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
