import { BlockList, isIP } from 'node:net';

/**
 * Which addresses a caller's URL may reach. Addresses that embed an IPv4 address in IPv6 (mapped, NAT64, 6to4, Teredo) are refused whole:
 * an allowed IPv4 range never opens them.
 */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32', // a cloud's metadata and name service
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Inside global unicast; all of IPv6 outside of it is forbidden too. */
const FORBIDDEN_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
const GLOBAL_UNICAST_IPV6 = '2000::/3';

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const version = isIP(address);
    list.addSubnet(
      address,
      bits === undefined ? (version === 6 ? 128 : 32) : Number(bits),
      version === 6 ? 'ipv6' : 'ipv4',
    );
  }
  return list;
}

/** Judges literal addresses. */
export interface AddressPolicy {
  /** False for anything that is not a plain IPv4 or IPv6 address, too. */
  permits(address: string): boolean;
}

/** @param allow CIDRs (or single addresses) that are permitted although they are private: `EGRESS_ALLOW`. */
export function createAddressPolicy(allow: readonly string[]): AddressPolicy {
  const versionOf = (cidr: string) => isIP(cidr.split('/')[0] ?? '');
  // One list for each version: Node matches an IPv4-mapped IPv6 address against IPv4 rules of the same list.
  const allowed4 = listOf(allow.filter((cidr) => versionOf(cidr) === 4));
  const allowed6 = listOf(allow.filter((cidr) => versionOf(cidr) === 6));
  const forbidden4 = listOf(FORBIDDEN_IPV4);
  const forbidden6 = listOf(FORBIDDEN_IPV6);
  const global6 = listOf([GLOBAL_UNICAST_IPV6]);
  return {
    permits(address) {
      switch (address.includes('%') ? 0 : isIP(address)) {
        case 4:
          return allowed4.check(address, 'ipv4') || !forbidden4.check(address, 'ipv4');
        case 6:
          return (
            allowed6.check(address, 'ipv6') ||
            (global6.check(address, 'ipv6') && !forbidden6.check(address, 'ipv6'))
          );
        default:
          return false;
      }
    },
  };
}
