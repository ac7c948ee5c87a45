import type { Presence } from './source.js';
import { compareUtf8 } from './utf8.js';

/** A gateway that was not heard for this long is gone, and its connections with it. */
export const gatewayQuietMs = 20_000;

/**
 * The connection that commands go to: the newest, by time and then id, of those whose gateway lives. Undefined means offline.
 *
 * @param quietMs how long a gateway has not been heard, by the caller's monotonic clock; Infinity for one that never was.
 */
export function newestConnection(connections: Iterable<Presence>, quietMs: (gatewayId: string) => number): Presence | undefined {
  let newest: Presence | undefined;
  for (const connection of connections) {
    if (quietMs(connection.gatewayId) < gatewayQuietMs && isNewer(connection, newest)) newest = connection;
  }
  return newest;
}

function isNewer(a: Presence, b: Presence | undefined): boolean {
  if (!b) return true;
  return a.connectedMs === b.connectedMs ? compareUtf8(a.connectionId, b.connectionId) > 0 : a.connectedMs > b.connectedMs;
}
