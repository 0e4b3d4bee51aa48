/** Waiting jobs: their rows, reservations and first events, as after real calls. */
import type { Principal } from '../src/access/access.types.js';
import type { Database } from '../src/database/index.js';
import { newId } from '../src/contract/ids.js';
import { createJobService, type JobOutcome, type JobService, type NewJob } from '../src/jobs/index.js';
import { addOrganisation, silent } from './embedded.js';

const ORGANISATIONS = 10;
/** 2 credits and 1 image, hundredths in the order of BUCKETS. */
export const CHARGE = [200, 0, 100, 0, 0, 0, 0, 0, 0];
const FILE = 'file_00000000000000000000000001.png';

/** The files exist only as names. */
export const NO_FILES = { removeFilesOfFailedWork: (): Promise<void> => Promise.resolve() };

export interface Backlog {
  jobs: JobService & { close(): void };
  /** Reserves the price of `count` jobs, spread over the organisations, and returns the function that creates the jobs. */
  prepare(count: number): Promise<NewJob[]>;
}

export async function createBacklog(database: Database): Promise<Backlog> {
  const jobs = createJobService({ database, files: NO_FILES, logger: silent });
  const orgs = Array.from({ length: ORGANISATIONS }, () => newId('org'));
  for (const orgId of orgs) await addOrganisation(database, orgId);
  return {
    jobs,
    async prepare(count) {
      const made = Array.from({ length: count }, (_, index) => newJob(orgs[index % orgs.length] ?? ''));
      await reserve(database, made);
      return made;
    },
  };
}

async function reserve(database: Database, made: NewJob[]): Promise<void> {
  const ids = made.map(({ operationId }) => operationId);
  const orgIds = made.map(({ principal }) => principal.orgId);
  await database.system.query(
    `INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, holder)
     SELECT u.id, u.org, 'image', 'reserved', b.period_start, $3, 'prc_bench'
     FROM unnest($1::text[], $2::text[]) AS u (id, org) JOIN balances b ON b.org_id = u.org AND NOT b.superseded`,
    [ids, orgIds, CHARGE],
  );
  await database.system.query(
    `UPDATE balances b SET reserved = ARRAY(SELECT r + c * n.jobs FROM unnest(b.reserved, $2::bigint[]) AS v (r, c))
     FROM (SELECT org, count(*) AS jobs FROM unnest($1::text[]) AS u (org) GROUP BY org) n WHERE b.org_id = n.org`,
    [orgIds, CHARGE],
  );
}

function newJob(orgId: string): NewJob {
  const principal = { orgId, userId: 'usr_bench', keyId: 'key_bench', plan: { maxPendingJobs: 1_000_000 } };
  return {
    id: newId('job'),
    principal: principal as unknown as Principal,
    tool: 'image',
    model: 'sandbox/image-standard',
    modelTier: 'standard',
    multiplier: 100,
    inputParams: { prompt: 'a penstock above a mill', n: 1, size: '1024x1024', style: 'vivid' },
    estimatedCredits: 2,
    operationId: newId('op'),
    requestId: 'req_bench',
    client: { serviceClient: null, clientName: null, userAgent: null },
    fileIds: [],
  };
}

/** The immediate result of a job's handler: without work, only the queue is measured. */
export function outcome(): JobOutcome {
  const url = { $file: FILE };
  return {
    outputData: { images: [{ url, width: 1024, height: 1024 }] },
    result: { data: [{ url, width: 1024, height: 1024 }] },
    amounts: { credits: 200, image_generations: 100 },
    outputFileId: FILE.split('.')[0] ?? null,
    fileIds: [],
  };
}
