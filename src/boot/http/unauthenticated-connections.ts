/** Of one address: a router that reconnects all of its sockets in one moment stays below. */
const MOST_OF_ADDRESS = 2_000;
/** Each takes 10 to 20 kB. */
const MOST = 8_000;

/**
 * Connections whose caller has shown no key: no request has come yet, the last one had none, or a WebSocket's `connection_init` is awaited. They
 * are bounded for each address and for the process. Over a bound the one that waits longest is dropped: who brings a key brings it at once,
 * so that whoever only holds connections open shuts out himself and nobody else.
 */
export interface UnauthenticatedConnections {
  /** Counts a connection, anew where it was counted already. */
  enter(socket: object, connection: UnauthenticatedConnection): void;
  leave(socket: object): void;
  readonly size: number;
}

export interface UnauthenticatedConnection {
  /** Null: that of a proxy of ours, which speaks for many. */
  address: string | null;
  drop(): void;
}

export function createUnauthenticatedConnections(
  most = { ofAddress: MOST_OF_ADDRESS, ofAll: MOST },
): UnauthenticatedConnections {
  /** In the order in which they came, here and below. */
  const all = new Map<object, UnauthenticatedConnection>();
  const byAddress = new Map<string, Set<object>>();
  const leave = (socket: object): void => {
    const connection = all.get(socket);
    if (connection === undefined) return;
    all.delete(socket);
    if (connection.address === null) return;
    const neighbours = byAddress.get(connection.address);
    neighbours?.delete(socket);
    if (neighbours?.size === 0) byAddress.delete(connection.address);
  };
  const dropFirst = (sockets: Iterable<object>): void => {
    for (const socket of sockets) {
      const connection = all.get(socket);
      leave(socket);
      return connection?.drop();
    }
  };
  const join = (socket: object, address: string): void => {
    const neighbours = byAddress.get(address) ?? new Set();
    if (neighbours.size >= most.ofAddress) dropFirst(neighbours);
    byAddress.set(address, neighbours.add(socket));
  };
  return {
    enter(socket, connection) {
      leave(socket);
      if (connection.address !== null) join(socket, connection.address);
      if (all.size >= most.ofAll) dropFirst(all.keys());
      all.set(socket, connection);
    },
    leave,
    get size() {
      return all.size;
    },
  };
}
