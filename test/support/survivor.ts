import { afterAll, beforeAll } from 'vitest';
import { createInstallation, type Installation } from './installation.js';
import { spawnPenstock, type SpawnedServer } from './spawned.js';

/** For tests that kill processes of an installation: an additional process that is not killed. */
export interface Surviving {
  installation: Installation;
  other: SpawnedServer;
}

/** Starts both before the tests of the calling file, and stops them after the last. */
export function useSurvivor(started: (surviving: Surviving) => void): void {
  let installation: Installation | undefined;
  let other: SpawnedServer | undefined;
  beforeAll(async () => {
    installation = await createInstallation();
    other = await spawnPenstock(installation, { role: 'all' });
    started({ installation, other });
  });
  afterAll(async () => {
    await other?.close();
    await installation?.close();
  });
}
