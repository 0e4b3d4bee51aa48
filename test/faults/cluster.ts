import type { Answer, GraphqlAnswer } from '../support/client.js';
import { createInstallation, type Installation, type InstallationOptions } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer, type SpawnOptions } from '../support/spawned.js';

const FREELY = { limit: 1_000_000, windowSeconds: 60 };

/** Plans whose windows and allowances are out of the way, so that a test meets only the promise that it is about. */
export const RAISED_PLANS = {
  plans: {
    business_monthly: {
      limits: {
        credits: 10_000_000,
        image_generations: 1_000_000,
        tts_chars: 10_000_000,
        agent_runs: 1_000_000,
      },
      rate: { rpm: 1_000_000, burst: 1_000_000 },
      maxPendingJobs: 100_000,
      streams: { perMinute: 1_000_000, held: 100_000, heldByOrganization: 100_000 },
    },
  },
  endpointLimits: { chat: FREELY, image: FREELY, tts: FREELY },
};

/** Several real processes on one installation. */
export interface Cluster {
  installation: Installation;
  servers: SpawnedServer[];
  /** The servers in turn. */
  next(): SpawnedServer;
  add(options?: SpawnOptions): Promise<SpawnedServer>;
  close(): Promise<void>;
}

/** Starts one process for each entry of `processes`, one after the other. */
export async function startCluster(
  processes: SpawnOptions[],
  options: InstallationOptions = {},
): Promise<Cluster> {
  const installation = await createInstallation({ plans: RAISED_PLANS, ...options });
  const servers: SpawnedServer[] = [];
  let turn = 0;
  const cluster: Cluster = {
    installation,
    servers,
    next() {
      turn += 1;
      const server = servers[turn % servers.length];
      if (server === undefined) throw new Error('no server is running');
      return server;
    },
    async add(spawnOptions = {}) {
      const server = await spawnPenstock(installation, spawnOptions);
      servers.push(server);
      return server;
    },
    async close() {
      const closed = await Promise.allSettled(servers.map((server) => server.close()));
      await installation.close();
      const faults = closed.filter((one) => one.status === 'rejected').map((one) => one.reason as unknown);
      if (faults.length > 0) throw new AggregateError(faults, 'servers did not stop');
    },
  };
  try {
    for (const one of processes) await cluster.add(one);
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/** A row of the ledger as `usageRecords` shows it; amounts in whole units. */
export interface LedgerRow {
  operation: string;
  state: 'reserved' | 'settled' | 'released';
  requestId: string | null;
  jobId: string | null;
  amounts: { bucket: string; amount: number }[];
}

const LEDGER = `query ($after: String) {
  usageRecords(first: 100, after: $after) { nodes { operation state requestId jobId amounts { bucket amount } } nextCursor }
}`;

interface LedgerPage {
  usageRecords: { nodes: LedgerRow[]; nextCursor: string | null };
}

/** The whole ledger of the key's organisation, page by page. */
export async function readLedger(server: SpawnedServer, key: string): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = [];
  let after: string | null = null;
  do {
    const answer: GraphqlAnswer<LedgerPage> = await server.graphql<LedgerPage>(LEDGER, {
      key,
      variables: { after },
    });
    if (!answer.data) throw new Error(`usageRecords failed: ${JSON.stringify(answer.errors)}`);
    rows.push(...answer.data.usageRecords.nodes);
    after = answer.data.usageRecords.nextCursor;
  } while (after !== null);
  return rows;
}

/** What a row charged of a bucket. */
export function charged(row: LedgerRow, bucket: string): number {
  return row.amounts.find((amount) => amount.bucket === bucket)?.amount ?? 0;
}

/** How often each outcome came, such as `{200: 1, '402 Quota exceeded for credits': 9}`: a test that fails says what happened instead. */
export function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const outcome = status < 400 ? String(status) : `${status} ${String(body['error'])}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}
