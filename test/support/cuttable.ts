import { createServer, connect, type Server, type Socket } from 'node:net';

/** A way to PostgreSQL that can be cut and mended. */
export async function createCuttable(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get('host');
  const port = Number(target.port || 5432);
  const pairs = new Set<Socket>();
  let open = true;
  const server: Server = createServer((incoming) => {
    if (!open) return void incoming.destroy();
    const outgoing = folder ? connect(`${folder}/.s.PGSQL.${port}`) : connect(port, target.hostname);
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      pairs.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(from);
        to.destroy();
      });
      from.pipe(to);
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
      for (const socket of [...pairs]) socket.destroy();
    },
    mend: () => void (open = true),
    async close() {
      for (const socket of [...pairs]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
