import { lookup as systemLookup, promises as dns, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { oneAtATime } from '#model';
import type { Networks } from './networks.js';

/** As `dns.lookup` does when it is asked for all addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** How long a name server may take, twice. */
const nameServerMs = 2_000;
const inTurn = oneAtATime();
const isSilence = (reason: unknown): boolean => (reason as NodeJS.ErrnoException).code === 'ETIMEOUT';

/**
 * Asks the name servers, and the system for names that only it knows, such as those in its hosts file. The system's lookup takes a thread that
 * all lookups of the process share, Kafka's and QuestDB's too, for as long as a name server is silent. So it is asked for one name at a time,
 * and for no name of the internet whose server does not answer.
 */
export async function resolveBySystem(host: string): Promise<readonly LookupAddress[]> {
  if (!host.includes('.')) return inTurn(() => bySystem(host));
  const resolver = new dns.Resolver({ timeout: nameServerMs, tries: 2 });
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length > 0) return found;
  const silence = [four, six].find((one) => one.status === 'rejected' && isSilence(one.reason)) as PromiseRejectedResult | undefined;
  if (silence) throw silence.reason;
  return inTurn(() => bySystem(host));
}

const bySystem = (host: string): Promise<readonly LookupAddress[]> =>
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
