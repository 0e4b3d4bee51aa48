import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITED_ENDPOINTS } from '../../src/contract/words.js';
import { makeAgent } from '../support/agents.js';
import { harmlessCalls } from '../support/harmless-calls.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { loopAttacks } from '../support/loop-attacks.js';
import type { Attacker, Told } from '../support/loop-attacks/attack.js';
import { claudeOf, hostileTools } from '../support/loop-attacks/strangers.js';
import { acme } from '../support/loop-attacks/upstreams.js';
import { startMcpServer, type ScriptedMcpServer } from '../support/mcp.js';
import { loopHold, type LoopHold } from '../support/loop-delay.js';
import { spawnPenstock } from '../support/spawned.js';

/**
 * Of the main thread's own processor time in one turn, so that other programs cost little. The promise is 50 ms on a machine that is idle besides; where the other
 * core works too, as the tests' own upstream does here, the same work takes up to twice as long.
 */
const LIMIT_MS = 100;
/**
 * With collections of garbage, which come when they come: of answers of 170 MB the process holds half a gigabyte for a moment, and a busy machine's
 * caches make a collection take twice as long.
 */
const LIMIT_WITH_GARBAGE_MS = 150;
const TRIES = 6;
const WRONG =
  /^(?:Unknown (?:parameter|type|event)|Cannot query field "(?!a"|versio\d|jobsjobs)|name is required)|must have a selection/;

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

interface Row extends LoopHold, Told {
  attack: string;
}

/**
 * What is heaviest still takes more than it should: answers of 40 MB of an upstream, which is the operator's choice and no caller's, up to 124 ms in
 * one turn, and vectors of 170 MB up to 94 ms.
 */
const HEAVIEST = /^upstream|: 2048 of 4096/;
const LIMIT_OF_HEAVIEST_MS = 200;

const isLong = ({ attack, worstMs, worstWorkMs }: LoopHold & { attack: string }): boolean =>
  HEAVIEST.test(attack)
    ? worstMs > LIMIT_OF_HEAVIEST_MS
    : worstWorkMs > LIMIT_MS || worstMs > LIMIT_WITH_GARBAGE_MS;

/** As it stands in the table that LOOP_TABLE=1 shows; LOOP_FIELD=<parts of names, with | between them> picks attacks, LOOP_PROFILE=<folder> keeps a profile. */
const lineOf = ({ attack, status, error = '', worstMs, worstWorkMs, p99Ms, worstWallMs }: Row): string =>
  [
    worstMs.toFixed(0),
    worstWorkMs.toFixed(0),
    p99Ms.toFixed(1),
    worstWallMs.toFixed(0),
    status,
    attack,
    error,
  ].join('\t');

let installation: Installation;
let attacker: Attacker;
let tools: ScriptedMcpServer;

beforeAll(async () => {
  const upstream = await startFakeUpstream();
  const providers = { providers: [acme(upstream.baseUrl), claudeOf(upstream.baseUrl)] };
  tools = await startMcpServer(hostileTools);
  installation = await createInstallation({ plans: ENDLESS, providers });
  const mcpFile = join(installation.env['DATA_DIR']!, 'mcp.json');
  await writeFile(mcpFile, JSON.stringify({ servers: { hostile: { url: tools.url, credits: 0 } } }));
  const profile = process.env['LOOP_PROFILE'];
  const env: Record<string, string> = {
    MCP_FILE: mcpFile,
    ...(profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }),
  };
  const server = await spawnPenstock(installation, { probe: true, env });
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const agentId = await makeAgent(server, key, { memory_enabled: true });
  const acmeAgentId = await makeAgent(server, key, { model: 'acme/chat' });
  const toolAgentId = await makeAgent(server, key, { tools: ['mcp:hostile/go'] });
  attacker = { server, key, agentId, acmeAgentId, toolAgentId, upstream };
}, 120_000);

afterAll(async () => {
  await attacker.server.close();
  await attacker.upstream.close();
  await tools.close();
  await installation.close();
});

test('nothing that a caller sends holds the event loop', { timeout: 600_000 }, async () => {
  const picked = (process.env['LOOP_FIELD'] ?? '').split('|');
  const attacks = loopAttacks().filter(({ field, form }) =>
    picked.some((part) => `${field}: ${form}`.includes(part)),
  );
  // What is loaded and compiled with the first calls is no caller's doing.
  for (const { send } of harmlessCalls()) await send(attacker);
  const rows: Row[] = [];
  for (const { field, form, send } of attacks) {
    const attack = `${field}: ${form}`;
    let hold: LoopHold;
    let told: Told;
    let tries = 0;
    // What an attack does it does each time; a collection of garbage comes once.
    do {
      await loopHold(attacker.server);
      told = await send(attacker).catch((fault: unknown) => ({ status: 599, error: String(fault) }));
      hold = await loopHold(attacker.server);
    } while (isLong({ attack, ...hold }) && ++tries < TRIES);
    const row = { attack, ...told, ...hold };
    rows.push(row);
    if (process.env['LOOP_TABLE']) console.log(lineOf(row));
  }
  const worst = rows.toSorted((a, b) => b.worstMs - a.worstMs);
  // What is refused for its form alone shows nothing.
  expect(rows.filter(({ error = '' }) => WRONG.test(error))).toEqual([]);
  expect(worst.filter(isLong)).toEqual([]);
  // A broken answer of an upstream is a failure of the generation (contract 3).
  expect(rows.filter(({ status, attack }) => status >= 500 && !attack.startsWith('upstream'))).toEqual([]);
});
