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
 * Of the main thread's own processor time in one turn, so that other programs cost little: of work, and with the collections of garbage in it. The
 * promise is 50 ms of work; a slow machine takes half as long again.
 */
const LIMIT_MS = 75;
const LIMIT_WITH_GARBAGE_MS = 100;
const TRIES = 3;
/** How a broken answer of an upstream ends a call (contract 3). */
const FAILURE = /^(?:Generation|Transcription) failed$/;
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

const isLong = ({ worstMs, worstWorkMs }: LoopHold): boolean =>
  worstWorkMs > LIMIT_MS || worstMs > LIMIT_WITH_GARBAGE_MS;

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
    } while (isLong(hold) && ++tries < TRIES);
    const row = { attack, ...told, ...hold };
    rows.push(row);
    if (process.env['LOOP_TABLE']) console.log(lineOf(row));
  }
  const worst = rows.toSorted((a, b) => b.worstMs - a.worstMs);
  // What is refused for its form alone shows nothing.
  expect(rows.filter(({ error = '' }) => WRONG.test(error))).toEqual([]);
  expect(worst.filter(isLong)).toEqual([]);
  expect(rows.filter(({ status, error = '' }) => status >= 500 && !FAILURE.test(error))).toEqual([]);
});
