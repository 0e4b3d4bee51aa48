import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { AddressPolicy } from './addresses.js';
import { EgressError } from './egress.types.js';
import { createNameResolver } from './names.js';
import type { NameResolver } from './names.js';

const CONNECT_TIMEOUT_MS = 5000;

function forbidden(): EgressError {
  return new EgressError('forbidden', 'The host is not allowed');
}

/** Resolves a name and hands on permitted addresses only: what is checked is what is connected to, so that rebinding gains nothing. */
export function createGuardedLookup(
  policy: AddressPolicy,
  resolve: NameResolver = createNameResolver(),
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const permitted = addresses.filter((entry) => policy.permits(entry.address));
      const [first] = permitted;
      if (first === undefined) return callback(forbidden(), '');
      return options.all === true ? callback(null, permitted) : callback(null, first.address, first.family);
    });
  };
}

/** A dispatcher that connects to permitted addresses only. @param connections to one origin; null: as many as there are requests */
export function createGuardedAgent(
  policy: AddressPolicy,
  lookup: LookupFunction,
  connections: number | null,
): Agent {
  const connect = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS });
  return new Agent({
    connect: (options, callback) => {
      // A literal address skips the lookup.
      const literal = options.hostname.replace(/^\[|\]$/g, '');
      if (isIP(literal) !== 0 && !policy.permits(literal)) return callback(forbidden(), null);
      return connect(options, callback);
    },
    connections,
    pipelining: 1,
    keepAliveTimeout: 4000,
    maxHeaderSize: 32_768,
  });
}

/**
 * A dispatcher for addresses in the operator's own configuration (providers, search, S3 …): no deny list, keep-alive, as many
 * connections as there are streams open. Limits: connect 5 s, first byte 60 s, 60 s between chunks (decisions 6, "Upstreams").
 */
export function createOperatorAgent(
  options: { connectTimeoutMs?: number; headersTimeoutMs?: number; bodyTimeoutMs?: number } = {},
): Agent {
  return new Agent({
    connect: { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS },
    headersTimeout: options.headersTimeoutMs ?? 60_000,
    bodyTimeout: options.bodyTimeoutMs ?? 60_000,
    keepAliveTimeout: 30_000,
    connections: null,
    pipelining: 1,
  });
}
