import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { Networks } from './networks.js';

/** As `dns.lookup` does when it is asked for all addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const resolveBySystem: Resolve = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });

/** Somebody wants us to connect to an address that nobody outside may reach through us. */
export class NotAllowed extends Error {
  constructor(host: string) {
    super(`${host} is not on the public internet, and its network is not among those that the operator allows (HEADWATER_ALERT_NETWORKS).`);
  }
}

/**
 * Finds the addresses to connect to. The socket gets an address that was checked, not a name that is resolved once more: so it does not
 * matter what a name server says at another time.
 */
export function guarded(networks: Networks, resolve: Resolve): LookupFunction {
  const find = callbackify((host: string) => permitted(networks, resolve, host));
  return (host, { all }, callback) =>
    find(host, (error, addresses) => {
      if (error) return callback(error, '');
      return all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family);
    });
}

const literalOf = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** Whether the host of a URL is an address itself. */
export const isLiteral = (host: string): boolean => isIP(literalOf(host)) !== 0;

/** The addresses of a host that may be connected to, at least one. Rejects NotAllowed, and as `resolve` does. @param host a name or an address. */
export async function permitted(networks: Networks, resolve: Resolve, host: string): Promise<readonly LookupAddress[]> {
  const literal = literalOf(host);
  const family = isIP(literal);
  const found = family ? [{ address: literal, family }] : await resolve(host);
  const addresses = found.filter(({ address }) => networks.permit(address));
  if (addresses.length === 0) throw new NotAllowed(host);
  return addresses;
}
