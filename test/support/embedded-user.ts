/** A process that only uses the embedded PostgreSQL of a folder, until SIGTERM. The lifecycle test bundles and runs it. */
import { pino } from 'pino';
import { useEmbeddedPostgres } from '../../src/database/embedded/index.js';

const embedded = await useEmbeddedPostgres({
  dataDir: process.argv[2] ?? '',
  logger: pino({ level: 'warn' }, pino.destination(2)),
});
process.on('SIGTERM', () => {
  void embedded.release().then(() => process.exit(0));
});
setInterval(() => undefined, 60_000);
process.stdout.write(`${embedded.url}\n`);
