/**
 * The influence of one organisation on another: a victim calls at a steady rate while a neighbour uses its key as harmfully as possible.
 * NEIGHBOURS_OF=<folder> measures the build of another checkout, which must be built before; NEIGHBOURS_ONLY=<words> runs only the attacks whose names
 * contain these words.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITED_ENDPOINTS } from '../src/contract/words.js';
import { loopHold } from '../test/support/loop-delay.js';
import type { Places } from './contenders.js';
import { NEIGHBOUR_ATTACKS, type AttackTarget } from './neighbour-attacks.js';
import { freePort, run, start, stopOne, untilAnswers, V8_FLAGS } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

/** The time between the start of an attack and its measurement. */
const BEGIN_MS = 2_000;
/** The time in which the process must recover from an attack. */
const RECOVER_MS = 1_500;
/** Longer calls count as this time. */
const PATIENCE_MS = 15_000;
/** The promise: others' p99 stays within three times that of an idle neighbour, or within the delays of a busy machine's scheduler. */
const RATIO = 3;
const LEAST_P99_MS = 50;

const LIMITS = Object.fromEntries(
  [
    ...['credits', 'image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'tts_chars'],
    ...['music_tracks', 'agent_runs'],
  ].map((bucket) => [bucket, 1_000_000_000]),
);
/** Windows and quotas are wide, so that they do not stop an attack. */
const OPEN = { limits: LIMITS, rate: { rpm: 1_000_000, burst: 1_000_000 } };
const PLANS = {
  plans: { free: OPEN, pro_monthly: OPEN, business_monthly: OPEN },
  endpointLimits: Object.fromEntries(
    LIMITED_ENDPOINTS.map((name) => [name, { limit: 1_000_000, windowSeconds: 60 }]),
  ),
};

interface Target {
  child: ChildProcess;
  victim: string;
  aim: Omit<AttackTarget, 'pages'>;
}

async function startTarget({ scratch, root }: Places, checkout: string, name: string): Promise<Target> {
  const port = await freePort();
  const folder = join(scratch, `neighbours-${name}`);
  const plans = join(folder, 'plans.json');
  await mkdir(folder, { recursive: true });
  await writeFile(plans, JSON.stringify(PLANS));
  const env = {
    NODE_ENV: 'production',
    PORT: String(port),
    DATA_DIR: join(folder, 'data'),
    PLANS_FILE: plans,
    EGRESS_ALLOW: '127.0.0.0/8',
    LOG_LEVEL: 'error',
  };
  const probe = `--import=${join(root, 'test/support/loop-probe.mjs')}`;
  const child = start({
    args: [...V8_FLAGS, probe, join(checkout, 'dist/main.js')],
    env,
    logFile: join(folder, 'penstock.log'),
    talks: true,
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilAnswers(`${origin}/readyz`, child);
  const cli = async (...args: string[]) =>
    JSON.parse(await run([join(checkout, 'dist/cli.js'), ...args], env)) as { key: string };
  const keyOf = async (org: string, plan: string): Promise<string> => {
    await cli('org', 'create', '--name', org, '--plan', plan);
    return (await cli('key', 'create', '--org', org, '--name', org, '--scopes', 'all')).key;
  };
  const victim = await keyOf('victim', 'business_monthly');
  const free = await keyOf('free', 'free');
  const team = await keyOf('team', 'business_monthly');
  const made = await fetch(`${origin}/api/v1/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${team}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'a', system_prompt: 'You help.', tools: ['web_fetch'] }),
  });
  const { agent } = (await made.json()) as { agent: { id: string } };
  return { child, victim, aim: { origin, free, team, agentId: agent.id } };
}

/** The victim's calls, and their rate. */
const CALLS = [
  { name: 'models', everyMs: 40, path: '/models', body: null },
  {
    name: 'chat',
    everyMs: 50,
    path: '/chat/completions',
    body: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 },
  },
  { name: 'image', everyMs: 1000, path: '/images/generations', body: { prompt: 'a weir', size: '512x512' } },
] as const;

type Latencies = Record<(typeof CALLS)[number]['name'], number[]>;

async function ask({ victim, aim }: Target, { path, body }: (typeof CALLS)[number]): Promise<number> {
  const from = performance.now();
  const headers = { authorization: `Bearer ${victim}`, 'content-type': 'application/json' };
  const init = body === null ? {} : { method: 'POST', body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const isAnswered = await fetch(`${aim.origin}/api/v1${path}`, { headers, signal, ...init })
    .then(async (answer) => (await answer.arrayBuffer()) && answer.ok)
    .catch(() => false);
  return isAnswered ? performance.now() - from : PATIENCE_MS;
}

/** Calls at fixed times, even if earlier calls were not answered yet: a client that waits for answers would call a slow server less often. */
async function measure(target: Target, durationMs: number): Promise<Latencies> {
  const all: Latencies = { models: [], chat: [], image: [] };
  await Promise.all(
    CALLS.map(async (call) => {
      const asked: Promise<unknown>[] = [];
      const until = performance.now() + durationMs;
      while (performance.now() < until) {
        asked.push(ask(target, call).then((took) => all[call.name].push(took)));
        await sleep(call.everyMs);
      }
      await Promise.all(asked);
    }),
  );
  return all;
}

const at = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** The result of one attack; NaN for the loop of a process that has ended. */
interface Outcome {
  latencies: Latencies;
  loop: { worstMs: number; p99Ms: number };
  isAlive: boolean;
}

async function underAttack(places: Places, target: Target, round: Round): Promise<Outcome> {
  const { attack, durationMs } = round;
  const order = JSON.stringify({ attack, aim: target.aim });
  const neighbour =
    attack === null
      ? null
      : start({
          args: [join(places.programs, 'neighbour.process.js'), order],
          logFile: join(places.scratch, 'neighbour.log'),
          talks: true,
        });
  await sleep(BEGIN_MS);
  const loopOf = () => loopHold({ process: target.child }).catch(() => ({ worstMs: NaN, p99Ms: NaN }));
  const { child } = target;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  if (isAlive()) void loopOf();
  const latencies = await measure(target, durationMs);
  const loop = isAlive()
    ? await Promise.race([loopOf(), sleep(PATIENCE_MS, { worstMs: PATIENCE_MS, p99Ms: NaN })])
    : { worstMs: NaN, p99Ms: NaN };
  if (neighbour !== null && neighbour.exitCode === null) await stopOne(neighbour);
  return { latencies, loop, isAlive: isAlive() };
}

interface Round {
  /** Null for a run without an attack. */
  attack: string | null;
  durationMs: number;
}

const show = (value: number): string => (Number.isNaN(value) ? '-' : value.toFixed(value < 10 ? 1 : 0));

/** @param idle the result without an attack */
function row(name: string, { latencies, loop, isAlive }: Outcome, idle: Outcome): string[] {
  const [before = '', beside = ''] = [idle.latencies, latencies].map(({ chat }) => show(at(chat, 0.99)));
  const figures = CALLS.flatMap((call) => {
    const values = latencies[call.name];
    return [[0.5, 0.99, 1].map((share) => show(at(values, share))).join(' / ')];
  });
  return [
    name,
    `${before} → ${beside}`,
    ...figures,
    show(loop.p99Ms),
    show(loop.worstMs),
    isAlive ? '' : 'ENDED',
  ];
}

/** The remains of an attack (jobs, runs, sockets) must not change the next one's figures, so attacks that hold places get a separate installation. */
const LASTING = /wait an hour|pages|estimates/;

/** The process may be busy for a long time after an attack. */
const isStuck = ({ latencies }: Outcome): boolean => at(latencies.models, 0.99) >= PATIENCE_MS;

export async function benchNeighbours(places: Places, durationMs: number): Promise<Verdict[]> {
  const checkout = process.env['NEIGHBOURS_OF'] ?? places.root;
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  let count = 0;
  let target = await startTarget(places, checkout, String(count));
  const begin = async (): Promise<void> => {
    if (target.child.exitCode === null && target.child.signalCode === null) await stopOne(target.child);
    target = await startTarget(places, checkout, String(++count));
    await measure(target, BEGIN_MS);
  };
  await measure(target, BEGIN_MS);
  const idle = await underAttack(places, target, { attack: null, durationMs });
  const tell = (name: string, outcome: Outcome): void => {
    rows.push(row(name, outcome, idle));
    // Printed immediately, so that an interrupted run shows its results so far.
    console.log(rows.at(-1)?.join('  '));
  };
  tell('nobody', idle);
  const base = Math.max(LEAST_P99_MS / RATIO, at(idle.latencies.chat, 0.99));
  const only = process.env['NEIGHBOURS_ONLY'] ?? '';
  const names = Object.keys(NEIGHBOUR_ATTACKS).filter((name) => name.includes(only));
  for (const attack of names) {
    const outcome = await underAttack(places, target, { attack, durationMs });
    tell(attack, outcome);
    verdicts.push(
      verdict(
        `chat p99 beside ${attack}, times that beside nobody`,
        at(outcome.latencies.chat, 0.99) / base,
        RATIO,
      ),
    );
    if (attack === names.at(-1)) break;
    if (LASTING.test(attack) || !outcome.isAlive || isStuck(outcome)) await begin();
    else await sleep(RECOVER_MS);
  }
  const head = [
    '',
    'chat p99 before → beside',
    ...CALLS.map(({ name }) => `${name} p50 / p99 / worst ms`),
    'loop p99',
    'worst',
    '',
  ];
  table(`Beside a neighbour who …, ${checkout}`, head, rows);
  if (target.child.exitCode === null && target.child.signalCode === null) await stopOne(target.child);
  return verdicts;
}
