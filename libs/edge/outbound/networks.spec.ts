import { describe, expect, it } from '@jest/globals';
import { Networks } from './networks.js';

describe('an address that people may have us connect to', () => {
  const networks = new Networks([]);
  it.each(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '::ffff:808:808'])('%s is one', (address) => {
    expect(networks.permit(address)).toBe(true);
  });

  it.each([
    ['', 'localhost', '1.2.3', '1.2.3.4.5'],
    ['127.0.0.1', '127.8.9.1', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ['169.254.169.254', '100.64.0.1', '192.0.0.8', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
    ['192.88.99.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd12::1', 'ff02::1', '2001:db8::1', '100::1'],
    // An IPv4 address in some way or other.
    ['::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::a00:1'],
    ['2002:7f00:1::', '2001::1', '1::1', '4000::1'],
  ])('none of these is one: %s, %s, …', (...addresses) => {
    expect(addresses.filter((address) => networks.permit(address))).toEqual([]);
  });

  it('is also one in a network that the operator allows', () => {
    const allowed = new Networks(['10.0.0.0/8', '127.0.0.2', 'fd00::/8', '::1']);
    const addresses = ['10.1.2.3', '127.0.0.2', '::ffff:10.0.0.1', 'fd00::1', '::1', '11.0.0.1'];
    expect(addresses.filter((address) => !allowed.permit(address))).toEqual([]);
    expect(['127.0.0.1', '127.0.0.3', '192.168.0.1', 'fe80::1', '::'].filter((address) => allowed.permit(address))).toEqual([]);
  });
});
