/** Starts the compared programs: the upstream, the raw proxy with and without a charge, Portkey's gateway, and Penstock with everything on. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, postmasterOf, run, start, untilAnswers, V8_FLAGS } from './processes.js';

/** A program that answers chat completions. */
export interface Contender {
  name: string;
  /** The process whose CPU is measured; null if none is. */
  pid: number | null;
  url: string;
  headers: Record<string, string>;
  /** The model that the request names. */
  model: string;
}

export interface Field {
  direct: Contender;
  raw: Contender;
  /** The cost of a durable charge alone (bench/charged-proxy.process.ts): the minimum for every gateway with durable charges. */
  charged: Contender;
  /** The same with the contract's requirements for a chat call, in the shortest code (bench/contract-proxy.process.ts). */
  contract: Contender;
  portkey: Contender;
  penstock: Contender & { pid: number; baseUrl: string; keyId: string; dataDir: string; postmaster: number };
}

export interface Places {
  /** Bundled programs of the benchmark. */
  programs: string;
  /** The repository. */
  root: string;
  /** A folder on the disk under test, removed afterwards. */
  scratch: string;
}

const JSON_HEADERS = { 'content-type': 'application/json' };
/** A key's rate window that is never full here. */
export const RATE = { rpm: 1_000_000, burst: 1_000_000 };
/** Plans with very wide windows: everything is checked, nothing is refused. */
const PLANS = {
  plans: {
    business_monthly: { limits: { credits: 1_000_000_000 }, rate: RATE },
  },
  endpointLimits: { chat: { limit: 1_000_000, windowSeconds: 60 } },
};

async function startUpstream(places: Places): Promise<Contender> {
  const port = await freePort();
  const child = start({
    args: [join(places.programs, 'upstream.process.js')],
    env: { PORT: String(port) },
    logFile: join(places.scratch, 'upstream.log'),
  });
  const origin = `http://127.0.0.1:${port}`;
  await untilAnswers(origin, child);
  return {
    name: 'upstream itself',
    pid: null,
    url: `${origin}/v1/chat/completions`,
    headers: JSON_HEADERS,
    model: 'bench-1',
  };
}

async function startRaw(places: Places, upstream: string): Promise<Contender> {
  const port = await freePort();
  const child = start({
    args: [join(places.programs, 'raw-proxy.process.js')],
    env: { PORT: String(port), UPSTREAM: upstream, NODE_ENV: 'production' },
    logFile: join(places.scratch, 'raw.log'),
  });
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  await untilAnswers(url, child);
  return { name: 'raw proxy', pid: pidOf(child), url, headers: JSON_HEADERS, model: 'bench-1' };
}

/** The proxies that charge: `charged` does nothing else; `contract` also does what the contract requires of a chat call. */
async function startFloor(
  places: Places,
  program: 'charged' | 'contract',
  { upstream, dataDir }: { upstream: string; dataDir: string },
): Promise<Contender> {
  const port = await freePort();
  const child = start({
    args: [...V8_FLAGS, join(places.programs, `${program}-proxy.process.js`)],
    env: { PORT: String(port), UPSTREAM: upstream, DATA_DIR: dataDir, NODE_ENV: 'production' },
    logFile: join(places.scratch, `${program}.log`),
  });
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  await untilAnswers(url, child);
  const pid = pidOf(child);
  if (program === 'charged')
    return { name: 'raw + charge', pid, url, headers: JSON_HEADERS, model: 'bench-1' };
  const headers = { ...JSON_HEADERS, authorization: 'Bearer sk_00000000000000000000000000000000' };
  return { name: 'raw + charge + contract', pid, url, headers, model: 'bench/chat-1' };
}

async function startPortkey(places: Places, upstream: string): Promise<Contender> {
  const port = await freePort();
  const child = start({
    args: [join(places.programs, 'portkey.process.js'), places.root, `--port=${port}`, '--headless'],
    env: { NODE_ENV: 'production' },
    logFile: join(places.scratch, 'portkey.log'),
  });
  await untilAnswers(`http://127.0.0.1:${port}/`, child);
  return {
    name: 'Portkey 1.15.2',
    pid: pidOf(child),
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    headers: {
      ...JSON_HEADERS,
      authorization: 'Bearer none',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstream}/v1`,
    },
    model: 'bench-1',
  };
}

async function startPenstock(places: Places, upstream: string): Promise<Field['penstock']> {
  const port = await freePort();
  const dataDir = join(places.scratch, 'data');
  const [plansFile, providersFile] = [
    join(places.scratch, 'plans.json'),
    join(places.scratch, 'providers.json'),
  ];
  await mkdir(dataDir, { recursive: true });
  await writeFile(plansFile, JSON.stringify(PLANS));
  await writeFile(providersFile, JSON.stringify(providersAt(upstream)));
  const env = {
    NODE_ENV: 'production',
    PORT: String(port),
    DATA_DIR: dataDir,
    PLANS_FILE: plansFile,
    PROVIDERS_FILE: providersFile,
  };
  const child = start({
    args: [...V8_FLAGS, join(places.root, 'dist/main.js')],
    env,
    logFile: join(places.scratch, 'penstock.log'),
  });
  await untilAnswers(`http://127.0.0.1:${port}/readyz`, child);
  const cli = async (...args: string[]): Promise<Record<string, string>> =>
    JSON.parse(await run([join(places.root, 'dist/cli.js'), ...args], env)) as Record<string, string>;
  await cli('org', 'create', '--name', 'bench', '--plan', 'business_monthly');
  const { id: keyId = '', key } = await cli(
    'key',
    'create',
    '--org',
    'bench',
    '--name',
    'bench',
    '--scopes',
    'all',
  );
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  return {
    name: 'Penstock',
    pid: pidOf(child),
    url: `${baseUrl}/chat/completions`,
    headers: { ...JSON_HEADERS, authorization: `Bearer ${key}` },
    model: 'bench/chat-1',
    baseUrl,
    keyId,
    dataDir,
    postmaster: await postmasterOf(dataDir),
  };
}

function providersAt(upstream: string): object {
  const model = {
    id: 'bench/chat-1',
    upstreamId: 'bench-1',
    type: 'chat',
    tier: 'basic',
    multiplier: 1,
    contextWindow: 128_000,
  };
  const provider = {
    id: 'bench',
    kind: 'openai-compatible',
    baseUrl: `${upstream}/v1`,
    apiKey: 'none',
    models: [model],
  };
  const native = {
    ...provider,
    id: 'native',
    dialects: ['responses', 'messages'],
    models: [{ ...model, id: 'native/chat-1' }],
  };
  return { providers: [provider, native] };
}

function pidOf(child: { pid?: number | undefined }): number {
  if (child.pid === undefined) throw new Error('the process did not start');
  return child.pid;
}

/** Only Penstock and its upstream. */
export async function startAlone(places: Places): Promise<Field['penstock']> {
  const direct = await startUpstream(places);
  return await startPenstock(places, new URL(direct.url).origin);
}

/** All contenders, each in a separate process. */
export async function startField(places: Places): Promise<Field> {
  const direct = await startUpstream(places);
  const upstream = new URL(direct.url).origin;
  const penstock = await startPenstock(places, upstream);
  return {
    direct,
    raw: await startRaw(places, upstream),
    charged: await startFloor(places, 'charged', { upstream, dataDir: penstock.dataDir }),
    contract: await startFloor(places, 'contract', { upstream, dataDir: penstock.dataDir }),
    portkey: await startPortkey(places, upstream),
    penstock,
  };
}
