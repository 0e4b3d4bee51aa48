import { pino } from 'pino';
import { startPenstock as boot } from '../../src/boot/index.js';
import { loadConfig } from '../../src/config/index.js';
import type { Services } from '../../src/services.js';
import { createTestClient, type TestClient } from './client.js';
import { createInstallation, type Installation, type InstallationOptions } from './installation.js';
import { watchLeaks } from './leaks.js';
import { createOwners } from './owners.js';

export interface PenstockOptions extends InstallationOptions {
  /** Default `all`. */
  role?: 'all' | 'api' | 'worker';
  /** Joins another server's installation (one database, one folder) instead of creating one. */
  installation?: Installation;
  /** Default: any free port. */
  port?: number;
}

/** The composed product in this process. */
export interface TestServer extends TestClient, Pick<Installation, 'cli' | 'createOrg' | 'createKey'> {
  origin: string;
  /** `<origin>/api/v1` */
  baseUrl: string;
  graphqlUrl: string;
  wsUrl: string;
  installation: Installation;
  /** For data that no API shows; tests use the APIs if possible. */
  services: Services;
  /** Stops the server and removes its installation, if it created one. @throws Error if a socket, timer or process is left */
  close(): Promise<void>;
}

/** Starts Penstock on a free port with its own database. */
export async function startPenstock(options: PenstockOptions = {}): Promise<TestServer> {
  const checkLeaks = options.installation === undefined ? watchLeaks() : async () => undefined;
  const installation = options.installation ?? (await createInstallation(options));
  const port = options.port ?? 0;
  // With port 0 the public address follows the port that the server takes, so that the URLs of files work.
  const env = {
    ...installation.env,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    ...options.env,
    ROLE: options.role ?? 'all',
    PORT: String(port),
  };
  const config = loadConfig(env);
  // Tests cause most of the logged errors on purpose, so the runner's output shows them only with TEST_LOG_LEVEL.
  const level = options.env?.['LOG_LEVEL'] ?? process.env['TEST_LOG_LEVEL'] ?? 'fatal';
  const app = await boot({ config, logger: pino({ level }) });
  const origin = `http://127.0.0.1:${app.port}`;
  const client = createTestClient(origin);
  return {
    ...client,
    cli: installation.cli,
    ...createOwners(app.services),
    origin,
    baseUrl: `${origin}/api/v1`,
    graphqlUrl: `${origin}/graphql`,
    wsUrl: `${origin.replace(/^http/, 'ws')}/graphql`,
    installation,
    services: app.services,
    async close() {
      await client.close();
      await app.close();
      if (options.installation === undefined) await installation.close();
      await checkLeaks();
    },
  };
}
