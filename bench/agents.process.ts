/**
 * Agent runs with the sandbox's model, with the whole product in this process. It measures the time from a step's row to its
 * subscriber, the delay of the event loop during 200 simultaneous runs, and the time of a search in 10,000 passages. The last line is
 * JSON for the comparison that calls this.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createKeyService, createOrganizationService } from '../src/access/index.js';
import type { Principal } from '../src/access/index.js';
import { startPenstock } from '../src/boot/index.js';
import { loadConfig } from '../src/config/index.js';
import { newId } from '../src/contract/ids.js';
import type { CallContext } from '../src/metering/index.js';
import type { Services } from '../src/services.js';
import { SCOPES } from '../src/contract/words.js';

const WATCHED = 40;
const AT_ONCE = 200;
const CALL = { name: 'generate_text', arguments: { prompt: 'Hello', max_tokens: 20 } };
const INPUT = `@sandbox${JSON.stringify({ steps: [{ tool_call: CALL }] })}`;

interface Bench {
  services: Services;
  principal: Principal;
  agentId: string;
}

async function prepare(services: Services): Promise<Bench> {
  const { database, plans, authenticator, agents } = services;
  const org = await createOrganizationService({ database, plans }).create({
    name: 'b',
    planCode: 'cli_team',
  });
  const scopes = [...SCOPES];
  const { key } = await createKeyService({ database }).create({
    orgId: org.id,
    name: 'b',
    scopes,
    expiresAt: null,
  });
  const principal = await authenticator.authenticate(`Bearer ${key}`);
  const body = { name: 'Bench', system_prompt: 'You help.', tools: ['generate_text'] };
  const { id } = await agents.create({ principal, idempotencyKey: null }, body);
  return { services, principal, agentId: id };
}

function callOf(principal: Principal): CallContext {
  return {
    principal,
    requestId: newId('req'),
    client: { serviceClient: null, clientName: null, userAgent: null },
    signal: new AbortController().signal,
    keyWindowOpen: false,
    rate: null,
    idempotencyKey: null,
  };
}

/** Starts a run and follows it to its end. @returns the arrival time of each event, by its sequence */
async function follow({
  services,
  principal,
  agentId,
}: Bench): Promise<{ id: string; at: Map<number, number> }> {
  const { id } = await services.agentRuns.start(callOf(principal), agentId, { input: INPUT });
  const at = new Map<number, number>();
  for await (const event of await services.runEvents.steps({ principal, agentId, runId: id, after: 0 })) {
    at.set(event.sequence, Date.now());
    if (event.type === 'error') throw new Error(JSON.stringify(event.data));
  }
  return { id, at };
}

/** Median milliseconds from a step's row to its subscriber. The first event is excluded, because it was written before the subscription. */
async function stepMs(bench: Bench): Promise<number> {
  const delays: number[] = [];
  for (let i = 0; i < WATCHED; i++) {
    const { id, at } = await follow(bench);
    const rows = await bench.services.database.system.query<{ sequence: number; created_at: Date }>(
      'SELECT sequence, created_at FROM agent_run_events WHERE run_id = $1 AND sequence > 1',
      [id],
    );
    for (const row of rows) delays.push((at.get(row.sequence) ?? 0) - row.created_at.getTime());
  }
  delays.sort((a, b) => a - b);
  return delays[delays.length >> 1] ?? 0;
}

async function crowd(bench: Bench): Promise<{ loopMs: number; tookMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 2 });
  const start = performance.now();
  delay.enable();
  await Promise.all(Array.from({ length: AT_ONCE }, () => follow(bench)));
  delay.disable();
  return { loopMs: delay.percentile(99) / 1e6, tookMs: performance.now() - start };
}

const PASSAGES = 10_000;
const SEARCHES = 60;
const WORDS =
  'gauge canal lock weir turbine sluice basin pump valve meter gate spillway dam channel reservoir pressure flow level rotor bearing seal inspection repair winter flood drought permit keeper schedule concrete steel timber'.split(
    ' ',
  );

/** Deterministic words with the distribution of a manual, so that questions contain common and rare words. */
function manual(): string {
  let state = 7;
  const word = (): string => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const share = state / 2_147_483_648;
    return WORDS[Math.floor(share * share * WORDS.length)] ?? 'water';
  };
  const paragraph = (n: number): string =>
    `Section ${n}. ${Array.from({ length: 110 }, word).join(' ')} Part number K${n * 37}.`.padEnd(880, '.');
  return Array.from({ length: PASSAGES }, (_, n) => paragraph(n)).join('\n\n');
}

/** Median milliseconds of a search in 10,000 passages, through the service that runs use. */
async function searchMs({ services, principal, agentId }: Bench): Promise<number> {
  const file = { filename: 'manual.txt', open: () => ({ bytes: Buffer.from(manual()) }) };
  const { id } = await services.knowledge.upload({ principal, idempotencyKey: null }, agentId, file);
  for (;;) {
    const { status, chunkCount } = await services.knowledge.get(principal, agentId, id);
    if (status === 'completed' && chunkCount >= PASSAGES) break;
    if (status === 'failed' || status === 'completed') throw new Error(`${status}: ${chunkCount} passages`);
    await sleep(200);
  }
  const took: number[] = [];
  for (let n = 0; n < SEARCHES; n++) {
    const query = `Where is the ${WORDS[n % WORDS.length]} of the ${WORDS[(n * 7) % WORDS.length]} with part number K${n * 37}?`;
    const start = performance.now();
    const found = await services.knowledge.search({ agentId, agentOrgId: principal.orgId, query, limit: 5 });
    took.push(performance.now() - start);
    if (found.length === 0) throw new Error(`nothing found for ${query}`);
  }
  took.sort((a, b) => a - b);
  return took[took.length >> 1] ?? 0;
}

const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-agents-'));
const config = loadConfig({ ...process.env, DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'error' });
const app = await startPenstock({ config, logger: pino({ level: 'error' }) });
try {
  const bench = await prepare(app.services);
  for (let i = 0; i < 10; i++) await follow(bench);
  const figures = { stepMs: await stepMs(bench), ...(await crowd(bench)), searchMs: await searchMs(bench) };
  console.log(`a step reaches its subscriber: p50 ${figures.stepMs} ms (${WATCHED} runs, one at a time)`);
  console.log(
    `${AT_ONCE} runs at once: ${Math.round(figures.tookMs)} ms, event loop p99 ${figures.loopMs.toFixed(1)} ms`,
  );
  console.log(`a search in ${PASSAGES} passages: p50 ${figures.searchMs.toFixed(1)} ms`);
  console.log(JSON.stringify(figures));
} finally {
  await app.close();
  await rm(folder, { recursive: true, force: true });
}
