import { createServer, type AddressInfo } from 'node:net';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { cloneDatabase } from '../support/database.js';
import { runToEnd } from '../support/run-to-end.js';

vi.setConfig({ testTimeout: 60_000 });

describe('a start', () => {
  test('on a database that refuses it ends with 1 and says in a sentence why', async () => {
    const clone = await cloneDatabase();
    const admin = new pg.Client({ connectionString: clone.url });
    await admin.connect();
    const stranger = `stranger_${process.pid}`;
    await admin.query(`CREATE ROLE ${stranger} LOGIN PASSWORD 'x'`);
    const missing = new URL(clone.url);
    missing.pathname = '/no_such_database';
    const foreign = new URL(clone.url);
    [foreign.username, foreign.password] = [stranger, 'x'];
    const start = (url: URL) => runToEnd({ PORT: '0', DATABASE_URL: url.href, PUBLIC_URL: 'http://a.test' });
    try {
      const told = await Promise.all([missing, foreign].map(start));
      for (const [index, reason] of ['database "no_such_database" does not exist', 'denied'].entries()) {
        expect(told[index]).toMatchObject({ code: 1, stdout: '' });
        expect(told[index]?.stderr).toMatch(/^PostgreSQL refuses: .*docs\/operations\.md.*\n$/);
        expect(told[index]?.stderr).toContain(reason);
      }
    } finally {
      await admin.query(`DROP ROLE ${stranger}`);
      await admin.end();
      await clone.drop();
    }
  });

  test('on a database that cannot do the work it ends with 1 and says in a sentence why', async () => {
    const clone = await cloneDatabase();
    const admin = new pg.Client({ connectionString: clone.url });
    await admin.connect();
    const narrow = `narrow_${process.pid}`;
    await admin.query(
      `CREATE DATABASE ${narrow} TEMPLATE template0 ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C'`,
    );
    const latin = new URL(clone.url);
    latin.pathname = `/${narrow}`;
    const readOnly = new URL(clone.url);
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
    const start = (url: URL) => runToEnd({ PORT: '0', DATABASE_URL: url.href, PUBLIC_URL: 'http://a.test' });
    try {
      const told = await Promise.all([latin, readOnly].map(start));
      expect(told.map(({ code }) => code)).toEqual([1, 1]);
      expect(told.map(({ stderr }) => stderr)).toEqual([
        "DATABASE_URL: the database's encoding is LATIN1; Penstock needs one in UTF8\n",
        expect.stringMatching(/^DATABASE_URL: connections may only read; .*\n$/),
      ]);
    } finally {
      await admin.query(`DROP DATABASE IF EXISTS ${narrow} WITH (FORCE)`);
      await admin.end();
      await clone.drop();
    }
  });

  test('whose DATABASE_URL asks a server for TLS that has none ends with 1 and says so in a sentence', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end('N'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const DATABASE_URL = `postgresql://u:hunter2@127.0.0.1:${port}/x?sslmode=verify-full`;
      expect(await runToEnd({ PORT: '0', DATABASE_URL, PUBLIC_URL: 'http://a.test' })).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'DATABASE_URL: PostgreSQL cannot be reached as it asks: The server does not support SSL connections\n',
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
