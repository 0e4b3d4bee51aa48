import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { BlockList, isIP } from 'node:net';

/** A request, or a connection on which none was understood. */
export interface Addressed {
  socket: Duplex;
  headers: IncomingHttpHeaders;
}

/** The address that a request counts against. */
export type ClientAddress = (request: Addressed) => string;

/**
 * `X-Forwarded-For` counts only as far as it was written by trusted proxies (`TRUST_PROXY`): from its end, the first address that is
 * no proxy of ours is the client. IPv6 clients count by their /64 network, of which a client owns every address.
 */
export function createClientAddress(trustProxy: string[]): ClientAddress {
  const isTrusted = proxiesOf(trustProxy);
  return (request) => {
    let address = plain(remoteAddressOf(request.socket));
    if (trustProxy.length === 0) return network(address);
    const header = request.headers['x-forwarded-for'];
    const hops = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
    while (isIP(address) !== 0 && isTrusted(address)) {
      const hop = plain(withoutPort(hops.pop()?.trim() ?? ''));
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return network(address);
  };
}

/** The address at the other end of a connection on which nothing was asked yet; null for a proxy of ours. */
export function createPeerAddress(trustProxy: string[]): (socket: Duplex) => string | null {
  const isTrusted = proxiesOf(trustProxy);
  return (socket) => {
    const address = plain(remoteAddressOf(socket));
    return isIP(address) !== 0 && isTrusted(address) ? null : network(address);
  };
}

function proxiesOf(trustProxy: string[]): (address: string) => boolean {
  const trusted = proxyList(trustProxy);
  return (address) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function remoteAddressOf(socket: Duplex): string {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string' ? socket.remoteAddress : '';
}

function proxyList(cidrs: string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Some proxies name the client's port too: `203.0.113.9:51000`, `[2001:db8::1]:51000`. */
function withoutPort(hop: string): string {
  return /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? hop;
}

/** An IPv4 address in IPv6 clothes is the IPv4 address. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

function network(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const middle = address.includes('::')
    ? Array.from({ length: 8 - left.length - right.length }, () => '0')
    : [];
  return [...left, ...middle, ...right].slice(0, 4).join(':');
}
