/** Most connections of one address. A router that reconnects all of its clients at once stays below this number. */
const MOST_OF_ADDRESS = 2_000;
/** Most connections of the process. Each takes 10 to 20 kB. */
const MOST = 8_000;

/**
 * Connections whose caller has not sent a key: no request has arrived yet, the last request had no key, or a WebSocket has not sent
 * `connection_init` yet. Their number is limited for each address and for the process. At a limit the oldest one is closed. Clients with a key
 * send it at once, so a client that only holds connections open loses its own connections first.
 */
export interface UnauthenticatedConnections {
  /** Counts a connection; one that is counted already becomes the newest. */
  add(socket: object, connection: UnauthenticatedConnection): void;
  leave(socket: object): void;
  readonly size: number;
}

export interface UnauthenticatedConnection {
  /** Null: a trusted proxy, which connects for many clients. */
  address: string | null;
  drop(): void;
}

export function createUnauthenticatedConnections(
  most = { ofAddress: MOST_OF_ADDRESS, ofAll: MOST },
): UnauthenticatedConnections {
  /** A map keeps the order in which connections came; the sets below do so too. */
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
    add(socket, connection) {
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
