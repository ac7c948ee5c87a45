/** The roles that answer requests from outside. */
export type FrontRole = 'ingress' | 'query' | 'control';

export interface Route {
  /** `/*` at its end is everything below it; anything else is that one path. */
  readonly path: string;
  readonly role: FrontRole;
}

/**
 * Which role answers which path, the first that fits. The one place where the roles become one address: the router of
 * `npm run cluster` and the configuration of the proxy in `infra/` are made from it.
 */
export const routes: readonly Route[] = [
  { path: '/ingest', role: 'ingress' },
  { path: '/v1/*', role: 'query' },
  { path: '/*', role: 'control' },
];

/** The role that answers a request target as it was sent: perhaps with a host before its path, or with its letters percent-encoded. */
export function roleOf(target: string): FrontRole {
  const path = decoded(target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0]!);
  const fits = (route: Route): boolean => (route.path.endsWith('/*') ? path.startsWith(route.path.slice(0, -1)) : path === route.path);
  return (routes.find(fits) ?? routes.at(-1)!).role;
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
