import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Of IPv6, all that is routed between networks today. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/**
 * Says which addresses people may have us connect to: those of the public internet. Private, loopback and link-local ones and all others with
 * a special meaning are behind the firewall of the operator, who may allow some networks.
 */
export class Networks {
  readonly #allowed: readonly (readonly [network: Address, bits: number])[];

  /** @param allowed addresses, or networks such as 10.0.0.0/8. */
  constructor(allowed: readonly string[]) {
    this.#allowed = allowed.map((text) => {
      if (text.includes('/')) return ipaddr.parseCIDR(text);
      const address = ipaddr.parse(text);
      return [address, 8 * address.toByteArray().length];
    });
  }

  /** @param text an IPv4 or IPv6 address. One that carries an IPv4 address in its last bytes is that one. */
  permit(text: string): boolean {
    if (isIP(text) === 0) return false;
    const address = ipaddr.process(text);
    return isPublic(address) || this.#allowed.some(([network, bits]) => isIn(address, network, bits));
  }
}

const isPublic = (address: Address): boolean =>
  address.range() === 'unicast' && (address.kind() === 'ipv4' || isIn(address, ...publicIpv6));

const isIn = (address: Address, network: Address, bits: number): boolean =>
  address.kind() === network.kind() && address.match([network, bits]);
