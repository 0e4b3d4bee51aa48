/** A stored document over REST (`GET /jobs/{jobId}`) compared with a bare server that runs the same SQL and writes the same JSON. */
import { join } from 'node:path';
import type { Effort } from './chat.js';
import type { Plan, Principal } from '../src/access/access.types.js';
import { gather } from '../src/metering/admission-batch.js';
import { encode } from '../src/metering/admission.queries.js';
import { keyRule } from '../src/metering/rates.js';
import { RATE, type Field, type Places } from './contenders.js';
import { figuresOf, measure, warmUp, type Sample } from './measure.js';
import { freePort, start, untilAnswers } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

const CONCURRENCIES = [1, 16];
const WARM_UP_MS = 4_000;

interface JobBody {
  id: string;
  orgId: string;
  userId: string;
  status: string;
}

async function json(url: string, options: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(url, options);
  const body = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${url}: ${JSON.stringify(body)}`);
  return body;
}

async function finishedJob(penstock: Field['penstock']): Promise<JobBody & Record<string, unknown>> {
  const { baseUrl, headers } = penstock;
  const body = JSON.stringify({ prompt: 'a penstock', size: '512x512' });
  const created = await json(`${baseUrl}/images/generations?async=true`, { method: 'POST', headers, body });
  const job = await json(`${baseUrl}/jobs/${String(created['id'])}?poll=true`, { headers });
  if (job['status'] !== 'completed') throw new Error(`the job did not finish: ${JSON.stringify(job)}`);
  return job as JobBody & Record<string, unknown>;
}

/** The parameters of `penstock_admit` for one request that takes a slot of its key's window and reserves nothing. */
function admissionOf(job: JobBody, keyId: string): string[] {
  const client = { serviceClient: null, clientName: null, userAgent: null };
  const principal = {
    keyId,
    orgId: job.orgId,
    userId: job.userId,
    orgVersion: 1,
    entitled: true,
  } as Principal;
  const request = { principal, requestId: 'bench', client, keyWindow: true };
  const key = keyRule({ rate: RATE } as Plan);
  return encode(gather([{ request, key, endpoint: null, own: null, allowance: '{}', cost: null }]), 'bench');
}

async function startRaw(
  places: Places,
  penstock: Field['penstock'],
  job: JobBody,
): Promise<{ pid: number; url: string }> {
  const port = await freePort();
  const child = start({
    args: [join(places.programs, 'raw-documents.process.js')],
    env: {
      PORT: String(port),
      DATA_DIR: penstock.dataDir,
      ORG_ID: job.orgId,
      ADMISSION: JSON.stringify(admissionOf(job, penstock.keyId)),
      ANSWER: JSON.stringify(job),
      NODE_ENV: 'production',
    },
    logFile: join(places.scratch, 'raw-documents.log'),
  });
  const url = `http://127.0.0.1:${port}/jobs/${job.id}`;
  await untilAnswers(url, child);
  return { pid: child.pid ?? 0, url };
}

/** CPU of Node for each request, Penstock against the bare server, in turns. */
export async function benchDocuments(
  places: Places,
  penstock: Field['penstock'],
  effort: Effort,
): Promise<Verdict[]> {
  const job = await finishedJob(penstock);
  const raw = await startRaw(places, penstock, job);
  const contenders = [
    { name: 'raw node:http', pid: raw.pid, url: raw.url, headers: {} },
    {
      name: 'Penstock',
      pid: penstock.pid,
      url: `${penstock.baseUrl}/jobs/${job.id}`,
      headers: penstock.headers,
    },
  ];
  const program = join(places.programs, 'load.process.js');
  const getOf = ({ url, headers }: { url: string; headers: Record<string, string> }) => ({
    url,
    method: 'GET' as const,
    headers,
    stream: false,
  });
  const warmUps = contenders.map(({ name, pid, ...rest }) => ({
    target: { name, pid },
    spec: { ...getOf(rest), concurrency: 16, durationMs: WARM_UP_MS },
  }));
  await warmUp(program, warmUps);
  const verdicts: Verdict[] = [];
  for (const concurrency of CONCURRENCIES) {
    const samples = contenders.map((): Sample[] => []);
    for (let round = 0; round < effort.rounds; round += 1) {
      for (const [index, { name, pid, ...rest }] of contenders.entries()) {
        const spec = { ...getOf(rest), concurrency, durationMs: effort.durationMs };
        const target = { name, pid, postmaster: penstock.postmaster };
        samples[index]?.push(await measure(program, target, spec));
      }
    }
    const figures = samples.map(figuresOf);
    const rows = figures.map((found, index) => [
      contenders[index]?.name ?? '',
      found.perSecond.toFixed(0),
      found.cpuUs.toFixed(0),
      found.postgresUs.toFixed(0),
      found.p50.toFixed(2),
      found.p99.toFixed(2),
    ]);
    table(
      `GET /jobs/{jobId}, ${concurrency} at a time`,
      ['', 'req/s', 'CPU µs/req', 'PostgreSQL µs/req', 'p50 ms', 'p99 ms'],
      rows,
    );
    verdicts.push(
      verdict(
        `stored document at ${concurrency}: CPU, Penstock / raw`,
        (figures[1]?.cpuUs ?? 0) / (figures[0]?.cpuUs ?? 1),
        1.7,
      ),
    );
  }
  return verdicts;
}
