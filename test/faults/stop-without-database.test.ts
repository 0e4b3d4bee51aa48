import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation?.close());

test.each(['hush', 'cut'] as const)(
  'a stop without PostgreSQL (%s) ends by itself',
  async (how) => {
    const wire = await createCuttable(installation.databaseUrl);
    const server = await spawnPenstock(installation, { env: { DATABASE_URL: wire.url } });
    try {
      wire[how]();
      expect(await server.signal('SIGTERM')).toBe(0);
    } finally {
      wire.mend();
      await server.close();
      await wire.close();
    }
  },
  60_000,
);
