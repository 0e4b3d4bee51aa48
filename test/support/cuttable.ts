import { createServer, connect, type Server, type Socket } from 'node:net';

/** A proxy to PostgreSQL that can be cut or made to drop data, and repaired. */
export async function createCuttable(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get('host');
  const port = Number(target.port || 5432);
  const pairs = new Map<Socket, Socket>();
  const answering = new Set<Socket>();
  let open = true;
  let silent = false;
  let mute = false;
  const server: Server = createServer((incoming) => {
    if (!open) return void incoming.destroy();
    const outgoing = folder ? connect(`${folder}/.s.PGSQL.${port}`) : connect(port, target.hostname);
    answering.add(outgoing);
    outgoing.on('close', () => answering.delete(outgoing));
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      pairs.set(from, to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(from);
        to.destroy();
      });
      if (!silent && !(mute && from === outgoing)) from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    cut() {
      open = false;
      for (const socket of [...pairs.keys()]) socket.destroy();
    },
    /** Open connections continue; new connections are refused until {@link mend}. */
    refuse() {
      open = false;
    },
    /** Open and new connections stay open, but no data passes. */
    hush() {
      silent = true;
      for (const [from, to] of pairs) from.unpipe(to);
    },
    /** All requests reach PostgreSQL; its answers are delivered after {@link mend}. */
    mute() {
      mute = true;
      for (const from of answering) from.unpipe();
    },
    /** Requests in flight still reach PostgreSQL; its answers are dropped. */
    swallow() {
      for (const from of answering) from.unpipe().resume();
    },
    /** Acts like a restarted firewall: open connections silently get no more data, and new connections work. */
    forget() {
      for (const [from] of pairs) from.unpipe().resume();
    },
    /** The same, and PostgreSQL's ends are closed, as if it was restarted or replaced meanwhile. */
    bereave() {
      for (const from of answering) {
        const bereft = pairs.get(from);
        from.removeAllListeners('close').unpipe().destroy();
        pairs.delete(from);
        if (bereft) pairs.set(bereft.unpipe().resume(), bereft);
      }
      answering.clear();
    },
    mend() {
      open = true;
      for (const [from, to] of pairs) if (silent || (mute && answering.has(from))) from.pipe(to);
      silent = false;
      mute = false;
    },
    async close() {
      for (const socket of [...pairs.keys()]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
