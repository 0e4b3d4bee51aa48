import { createServer, connect, type Server, type Socket } from 'node:net';

/** A way to PostgreSQL that can be cut, or swallow what is sent, and be mended. */
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
    /** Who is connected goes on as before; there are no new connections until {@link mend}. */
    refuse() {
      open = false;
    },
    /** Connections stay open, new ones too; nothing comes through. */
    hush() {
      silent = true;
      for (const [from, to] of pairs) from.unpipe(to);
    },
    /** All that is sent reaches PostgreSQL; what it says comes back after {@link mend}. */
    mute() {
      mute = true;
      for (const from of answering) from.unpipe();
    },
    /** What is under way still reaches PostgreSQL; its answers do not come back. */
    swallow() {
      for (const from of answering) from.unpipe().resume();
    },
    /** What a firewall does that has lost its memory: who is connected hears nothing any more, nobody is told, and new connections work. */
    forget() {
      for (const [from] of pairs) from.unpipe().resume();
    },
    /** The same, and PostgreSQL's ends are no more: it was restarted or replaced meanwhile. */
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
