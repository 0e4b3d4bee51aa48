import { invalid, notFound } from '../../contract/errors.js';
import type { Database, SqlValue } from '../../database/database.types.js';
import { badCursor, toPage } from '../../collections/page.js';
import { takeBoundId } from '../../idempotency/index.js';
import { agentPlanOf } from '../agent.input.js';
import type { AgentRun, AgentRunService, Page, RunPosition, RunStep } from '../agents.types.js';
import { createRunReader } from './run.reader.js';
import { isRunId, toAttachedFile, toRun, toStep } from './run.row.js';
import type { AttachmentRow, RunRow, StepRow } from './run.row.js';
import { createRunStarter } from './run.start.js';
import type { RunStartOptions } from './run.start.js';
import {
  ATTACHMENTS,
  CANCEL,
  COUNT,
  GET,
  GET_MANY,
  KNOWN,
  listStatement,
  POSITIONS,
  STEPS,
} from './run.queries.js';

/** Runs of agents (contract 2.12, 4.8; decisions 6 "Agents"). A run belongs to the organisation that started it. */
export function createRunService(options: RunStartOptions): AgentRunService {
  const { database } = options;
  const start = createRunStarter(options);

  const find = async (orgId: string, agentId: string | null, id: string): Promise<AgentRun> => {
    const values: SqlValue[] = [id, agentId];
    const [row] = isRunId(id) ? await database.tenantQuery<RunRow>(orgId, GET, values) : [];
    if (row === undefined) throw notFound('Run not found');
    return toRun(row);
  };

  const service: AgentRunService = {
    async start(call, agentId, body) {
      const made = takeBoundId(call, 'run');
      // A retry with the same Idempotency-Key joins the run that the first call started.
      if (made !== null) return await find(call.principal.orgId, null, made);
      return await start(call, agentId, body);
    },
    async list(principal, agentId, query): Promise<Page<AgentRun>> {
      agentPlanOf(principal.plan);
      const { orgId } = principal;
      const { after = null, before = null, first, backwards = false } = query;
      const bad = badCursor(query, isRunId);
      if (bad !== undefined) throw invalid('Invalid cursor', bad);
      if ((await database.tenantQuery(orgId, KNOWN, [agentId, orgId])).length === 0)
        throw notFound('Agent not found');
      const listed = [orgId, agentId, query.status ?? null, query.sessionId ?? null];
      const values = [...listed, after, before, first + 1];
      const rows = await database.tenantQuery<RunRow>(orgId, listStatement(backwards), values);
      return {
        ...toPage(rows.map(toRun), query, ({ id }) => id),
        async count() {
          const [row] = await database.tenantQuery<{ runs: number }>(orgId, COUNT, listed);
          return row?.runs ?? 0;
        },
      };
    },
    async get(principal, agentId, id) {
      agentPlanOf(principal.plan);
      return await find(principal.orgId, agentId, id);
    },
    ...readsOfMany(database),
    async cancel(principal, agentId, id) {
      await service.get(principal, agentId, id);
      const [outcome] = await database.system.query<RunRow & { moved: boolean }>(CANCEL, [
        principal.orgId,
        id,
      ]);
      if (outcome === undefined) throw notFound('Run not found');
      if (!outcome.moved) throw invalid(`Cannot cancel ${outcome.status} run`);
      if (outcome.attachments.length > 0) await options.files.removeFilesOfFailedWork(principal.orgId, id);
      return toRun(outcome);
    },
    ...createRunReader(database),
  };
  return service;
}

/** One statement, however many runs are requested. */
function readsOfMany(
  database: Database,
): Pick<AgentRunService, 'getMany' | 'stepsOf' | 'attachmentsOf' | 'positions'> {
  return {
    async getMany(principal, runIds) {
      agentPlanOf(principal.plan);
      const known = runIds.filter(isRunId);
      if (known.length === 0) return [];
      return (await database.tenantQuery<RunRow>(principal.orgId, GET_MANY, [known])).map(toRun);
    },
    async stepsOf(orgId, runIds) {
      const stepsOf = new Map<string, RunStep[]>(runIds.map((id) => [id, []]));
      for (const row of await database.tenantQuery<StepRow>(orgId, STEPS, [runIds]))
        stepsOf.get(row.run_id)?.push(toStep(row));
      return stepsOf;
    },
    async attachmentsOf(orgId, runIds) {
      const rows = await database.tenantQuery<AttachmentRow>(orgId, ATTACHMENTS, [runIds]);
      const byRun = Map.groupBy(rows, (row) => row.run_id);
      return new Map([...byRun].map(([runId, own]) => [runId, own.map(toAttachedFile)]));
    },
    positions: (runIds) => database.system.query<RunPosition>(POSITIONS, [runIds]),
  };
}
