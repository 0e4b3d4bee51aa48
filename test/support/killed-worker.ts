import type { Installation } from './installation.js';
import { startPenstock } from './server.js';
import { spawnPenstock } from './spawned.js';
import { eventually } from './wait.js';

interface Killing<T> {
  installation: Installation;
  orgId: string;
  /** Begins the work, and resolves with what came of it. */
  ask(): Promise<T>;
  /** Whether the first worker has come far enough. */
  isDue(): Promise<boolean>;
}

/** Starts work in one process, kills that once the work is far enough, and lets another take it over. */
export async function killedInTheMiddle<T>({ installation, orgId, ask, isDue }: Killing<T>): Promise<T> {
  const doomed = await spawnPenstock(installation, { role: 'worker' });
  let answer: Promise<T>;
  try {
    answer = ask();
    answer.catch(() => undefined);
    await eventually(isDue);
  } finally {
    await doomed.signal('SIGKILL');
    await doomed.close();
  }
  await installation.sql(
    `UPDATE responses SET lease_until = now() - interval '1 s' WHERE org_id = '${orgId}'`,
  );
  const successor = await startPenstock({ installation, role: 'worker' });
  try {
    return await answer;
  } finally {
    await successor.close();
  }
}

/** Whether an event with a text in it is stored for an organisation's response. */
export async function isStored(installation: Installation, orgId: string, text: string): Promise<boolean> {
  const stored = await installation.sql<{ text: string }>(
    `SELECT array_to_string(b.events, ' ') AS text FROM response_events b WHERE b.org_id = '${orgId}'`,
  );
  return stored.some((one) => one.text.includes(text));
}
