/**
 * The minimum cost of `GET /jobs/{jobId}`: node:http, the same two statements (admission of the key and its window, the job as the tenant), the same JSON,
 * nothing else. Settings from the environment; prints `ready` once it listens.
 */
import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { pino } from 'pino';
import { useEmbeddedPostgres } from '../src/database/index.js';
import { queryAsOrg } from '../src/database/org-query.js';
import { createAttempt } from '../src/database/pool.js';
import { ADMIT } from '../src/metering/admission.queries.js';
import { JOB_COLUMNS, type JobRow } from '../src/jobs/job.row.js';

const { PORT, DATA_DIR = '', ORG_ID = '', ADMISSION = '[]', ANSWER = '{}' } = process.env;
const template = JSON.parse(ANSWER) as Record<string, unknown>;
const ADMISSION_STATEMENT = { ...ADMIT, values: JSON.parse(ADMISSION) as string[] };
const GET = { name: 'job', text: `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = $1` };

const embedded = await useEmbeddedPostgres({ dataDir: DATA_DIR, logger: pino({ level: 'silent' }) });
const pool = (role: string): pg.Pool =>
  new pg.Pool({ connectionString: embedded.url, options: `-c role=${role} -c TimeZone=UTC`, max: 10 });
const [system, tenant] = [pool('penstock_system'), pool('penstock_tenant')];

async function readJob(id: string): Promise<JobRow | undefined> {
  const client = await tenant.connect();
  try {
    const [row] = await queryAsOrg<JobRow>(createAttempt(client), ORG_ID, { ...GET, values: [id] });
    return row;
  } finally {
    client.release();
  }
}

/** The contract's fields. File URLs were signed before, because signing is not compared. */
function toJson(row: JobRow): string {
  return JSON.stringify({
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    tool: row.tool,
    status: row.status,
    progress: row.progress,
    inputParams: row.input_params,
    outputData: template['outputData'],
    estimatedCredits: row.estimated_credits,
    actualCredits: row.actual_credits,
    errorMessage: row.error_message,
    createdAt: row.created_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    completedAt: row.completed_at?.toISOString() ?? null,
    model: row.model,
    modelTier: row.model_tier,
  });
}

async function answer(id: string, response: ServerResponse): Promise<void> {
  await system.query(ADMISSION_STATEMENT);
  const row = await readJob(id);
  const body = row === undefined ? '{}' : toJson(row);
  response.writeHead(row === undefined ? 404 : 200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const id = (request.url ?? '').split('/').at(-1) ?? '';
  answer(id, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('ready'));

async function stop(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await Promise.all([system.end(), tenant.end()]);
  await embedded.release();
}
process.on('SIGTERM', () => void stop().then(() => process.exit(0)));
