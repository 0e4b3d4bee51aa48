import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITED_ENDPOINTS } from '../../src/contract/words.js';
import { makeAgent } from '../support/agents.js';
import { harmlessCalls } from '../support/harmless-calls.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { loopAttacks, type Attacker, type Told } from '../support/loop-attacks.js';
import { loopHold, type LoopHold } from '../support/loop-delay.js';
import { spawnPenstock } from '../support/spawned.js';

/**
 * The promise is 50 ms. What is measured is the main thread's own processor time in one turn, so that other programs cost nothing; but a turn
 * may hold a collection of garbage, and a busy machine's caches and clock make the same work take up to twice as long.
 */
const LIMIT_MS = 100;
const TRIES = 3;
const WRONG =
  /^(?:Unknown (?:parameter|type)|Cannot query field "(?!a")|name is required)|must have a selection/;

/** No quota and no window keeps an attack from where it hurts. */
const ENDLESS = {
  plans: {
    business_monthly: {
      rate: { rpm: 100_000, burst: 100_000 },
      limits: Object.fromEntries(
        [
          ...['credits', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars'],
          ...['music_tracks', 'agent_runs'],
        ].map((bucket) => [bucket, -1]),
      ),
      maxPendingJobs: 100_000,
    },
  },
  endpointLimits: Object.fromEntries(
    LIMITED_ENDPOINTS.map((name) => [name, { limit: 100_000, windowSeconds: 60 }]),
  ),
};

let installation: Installation;
let attacker: Attacker;

beforeAll(async () => {
  installation = await createInstallation({ plans: ENDLESS });
  const server = await spawnPenstock(installation, { probe: true });
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  attacker = { server, key, agentId: await makeAgent(server, key, { memory_enabled: true }) };
}, 120_000);

afterAll(async () => {
  await attacker.server.close();
  await installation.close();
});

test('nothing that a caller sends holds the event loop', { timeout: 600_000 }, async () => {
  const attacks = loopAttacks().filter(({ field }) => field.includes(process.env['LOOP_FIELD'] ?? ''));
  // What is loaded and compiled with the first calls is no caller's doing.
  for (const { send } of harmlessCalls()) await send(attacker);
  const rows: (LoopHold & Told & { attack: string })[] = [];
  for (const { field, form, send } of attacks) {
    let hold: LoopHold;
    let told: Told;
    let tries = 0;
    // What an attack does it does each time; a collection of garbage comes once.
    do {
      await loopHold(attacker.server);
      told = await send(attacker).catch((fault: unknown) => ({ status: 599, error: String(fault) }));
      hold = await loopHold(attacker.server);
    } while (hold.worstMs > LIMIT_MS && ++tries < TRIES);
    rows.push({ attack: `${field}: ${form}`, ...told, ...hold });
  }
  const worst = rows.toSorted((a, b) => b.worstMs - a.worstMs);
  if (process.env['LOOP_TABLE'])
    for (const { attack, status, error = '', worstMs, p99Ms, worstWallMs } of worst)
      console.log(
        [worstMs.toFixed(0), p99Ms.toFixed(1), worstWallMs.toFixed(0), status, attack, error].join('\t'),
      );
  // What is refused for its form alone shows nothing.
  expect(rows.filter(({ error = '' }) => WRONG.test(error))).toEqual([]);
  expect(worst.filter(({ worstMs }) => worstMs > LIMIT_MS)).toEqual([]);
  expect(rows.filter(({ status }) => status >= 500)).toEqual([]);
});
