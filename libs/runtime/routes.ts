/** The roles that answer requests from outside. */
export type FrontRole = 'ingress' | 'query' | 'control';

export interface Route {
  /** `/*` at its end is the path itself and everything below it; anything else is that one path. */
  readonly path: string;
  readonly role: FrontRole;
}

/**
 * Which role answers which path, the first that fits. The one place where the roles are put together again to one address: the router of
 * `npm run cluster` and the configuration of the proxy in `infra/` are made from it.
 */
export const routes: readonly Route[] = [
  { path: '/ingest', role: 'ingress' },
  { path: '/v1/*', role: 'query' },
  { path: '/*', role: 'control' },
];
