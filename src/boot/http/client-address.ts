import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { all, compile } from 'proxy-addr';

/** A request, or a connection on which no request could be parsed. */
export interface AddressSource {
  socket: Duplex;
  headers: IncomingHttpHeaders;
}

/** The address that a request counts against. */
export type ClientAddress = (request: AddressSource) => string;

/**
 * `X-Forwarded-For` counts only as far as it was written by trusted proxies (`TRUST_PROXY`): from its end, the first address that is
 * no proxy of ours is the client. IPv6 clients count by their /64 network, of which a client owns every address.
 */
export function createClientAddress(trustProxy: string[]): ClientAddress {
  const isTrusted = createProxyTrust(trustProxy);
  return (request) => {
    const remote = plain(remoteAddressOf(request.socket));
    if (trustProxy.length === 0 || isIP(remote) === 0) return network(remote);
    const hops = all(request as IncomingMessage, isTrusted).map((hop) => plain(withoutPort(hop)));
    // An entry that is not an IP address was passed on unchecked by a proxy; it is ignored.
    return network(hops.findLast((hop) => isIP(hop) !== 0) ?? remote);
  };
}

/** The peer address of a connection before its first request; null for a trusted proxy. */
export function createPeerAddress(trustProxy: string[]): (socket: Duplex) => string | null {
  const isTrusted = createProxyTrust(trustProxy);
  return (socket) => {
    const address = plain(remoteAddressOf(socket));
    return isTrusted(address) ? null : network(address);
  };
}

/** Whether an address is that of a trusted proxy; the same rule as Express's `trust proxy`. */
export function createProxyTrust(trustProxy: string[]): (address: string) => boolean {
  const isTrusted = compile(trustProxy.flatMap((cidr) => EVERYTHING[cidr] ?? [cidr]));
  return (address) => isTrusted(withoutPort(address), 0);
}

/** proxy-addr takes no range of every address. */
const EVERYTHING: Record<string, string[]> = {
  '0.0.0.0/0': ['0.0.0.0/1', '128.0.0.0/1'],
  '::/0': ['::/1', '8000::/1'],
};

function remoteAddressOf(socket: Duplex): string {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string' ? socket.remoteAddress : '';
}

/** Some proxies name the client's port too: `203.0.113.9:51000`, `[2001:db8::1]:51000`. */
function withoutPort(hop: string): string {
  return /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? hop;
}

/** Converts an IPv4-mapped IPv6 address to its IPv4 address. */
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
