import type { Logger } from 'pino';
import type { Database } from '../../database/database.types.js';
import { ApiError } from '../../contract/errors.js';
import { UPLOADED_PREFIX, withinInputTime } from '../../files/index.js';
import { admitCall, isTierAllowed, requireAllowed } from '../../generation/index.js';
import { toKeyLostError } from '../../idempotency/index.js';
import { newId } from '../../contract/ids.js';
import { attributionOf } from '../../metering/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Attribution, Metering } from '../../metering/metering.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import { agentPlanOf } from '../agent.input.js';
import type { Agent, AgentRun, AgentService } from '../agents.types.js';
import { readAttachments } from './run.attachments.js';
import type { AttachmentOptions } from './run.attachments.js';
import { isDatabaseAway } from '../../jobs/index.js';
import { parseRun } from './run.input.js';
import type { RunInput } from './run.input.js';
import { toRun } from './run.row.js';
import type { RunRow } from './run.row.js';
import type { RunAttachment, UsedAgent } from './run.types.js';
import { storedJson } from '../../text/stored-json.js';
import { CREATE, IS_STORED } from './run.queries.js';

export interface RunStartOptions extends AttachmentOptions {
  database: Database;
  metering: Metering;
  models: ModelCatalogue;
  agents: AgentService;
  logger: Logger;
  knownTools(): ReadonlySet<string>;
}

/** The base price of a run (decisions 2), in hundredths. */
const BASE_PRICE = { agent_runs: 100, credits: 200 };

interface Checked {
  agent: Agent;
  used: UsedAgent;
  input: RunInput;
  attribution: Attribution;
}

/** Checks a call and stores its run, in the order of decisions 1. A worker executes it. */
export function createRunStarter(
  options: RunStartOptions,
): (call: CallContext, agentId: string, body: Record<string, unknown>) => Promise<AgentRun> {
  const { metering } = options;
  return async (call, agentId, body) => {
    let checked: Checked;
    try {
      checked = await check(options, call, { agentId, body });
    } catch (fault) {
      // 429 comes before 403, 404 and 400: the slot is taken first, then the error is thrown.
      await admitCall(metering, call, {});
      throw fault;
    }
    const draft = { ...checked, runId: newId('run'), operationId: newId('op') };
    const given = checked.input.attachments;
    if (given.length === 0) {
      await reserve(metering, call, draft);
      return await create(options, call, { ...draft, attachments: [] });
    }
    await admitCall(metering, call, {});
    const { runId } = draft;
    try {
      const attachments = await withinInputTime(call.signal, (signal) =>
        readAttachments(options, { ...call, signal }, { runId, attachments: given }),
      );
      await reserve(metering, call, draft);
      return await create(options, call, { ...draft, attachments });
    } catch (error) {
      // Files that cannot be removed while the database is away are removed by the retention.
      if (!isDatabaseAway(error)) await options.files.removeFilesOfFailedWork(call.principal.orgId, runId);
      throw error;
    }
  };
}

async function reserve(
  metering: Metering,
  call: CallContext,
  { runId, operationId, used, attribution }: Pick<Draft, 'runId' | 'operationId' | 'used' | 'attribution'>,
): Promise<void> {
  await admitCall(metering, call, {
    operation: {
      id: operationId,
      kind: 'agent_run',
      price: BASE_PRICE,
      model: used.model,
      runId,
      exhaustedMessage: 'Agent run quota exceeded',
    },
    attribution,
  });
}

/** Steps 5 and 6 of decisions 1, without effect. */
async function check(
  { agents, models, inputs, knownTools }: RunStartOptions,
  call: CallContext,
  { agentId, body }: { agentId: string; body: Record<string, unknown> },
): Promise<Checked> {
  const { principal } = call;
  const plan = agentPlanOf(principal.plan);
  const agent = await agents.get(principal, agentId);
  const found = models.find(agent.model);
  if (found !== null) requireAllowed(principal, found);
  if (found !== null && !isTierAllowed(principal.plan, found))
    throw new ApiError('model_tier_not_allowed', 'Model tier not allowed');
  const input = parseRun(body);
  const attribution = attributionOf(call, body);
  const { orgId } = principal;
  for (const { url } of input.attachments) {
    // A token that is bound to its agent reaches no other file of the organisation.
    if (principal.token?.bound != null && url.startsWith(UPLOADED_PREFIX)) inputs.checkForm(url, 'url');
    else await inputs.checkInput({ orgId, value: url, field: 'url' });
  }
  const model = models.resolve('chat', agent.model);
  const known = knownTools();
  const used = {
    name: agent.name,
    systemPrompt: agent.systemPrompt,
    model: model.id,
    tools: agent.tools.filter((tool) => known.has(tool)).slice(0, plan.maxTools),
    temperature: agent.temperature,
    maxTokens: agent.maxTokens,
    maxIterations: Math.min(agent.maxIterations, plan.maxIterations),
    memoryEnabled: agent.memoryEnabled,
  };
  return { agent, used, input, attribution };
}

interface Draft extends Checked {
  runId: string;
  operationId: string;
  attachments: RunAttachment[];
}

async function create(options: RunStartOptions, call: CallContext, draft: Draft): Promise<AgentRun> {
  const { principal } = call;
  const { agent, used, input, attribution, runId, operationId, attachments } = draft;
  const row = {
    id: runId,
    orgId: principal.orgId,
    userId: principal.userId,
    keyId: principal.keyId,
    tokenId: principal.token?.id ?? null,
    agentId: agent.id,
    agentOrgId: agent.orgId,
    agent: used,
    sessionId: input.sessionId ?? newId('ses'),
    endUser: input.endUser,
    attribution,
    input: input.input,
    attachments,
    history: input.history,
    operationId,
    requestId: call.requestId,
    client: call.client,
    planCode: principal.plan.code,
    idempotencyKey: call.idempotencyKey,
  };
  try {
    const [created] = await options.database.system.query<RunRow>(CREATE, [storedJson(row)]);
    if (created === undefined) throw new Error('penstock_run_create answered nothing');
    return toRun(created);
  } catch (error) {
    await undo(options, call, { draft, error });
    throw toKeyLostError(error);
  }
}

/**
 * Releases the reservation of a failed creation, unless it was committed and only its answer was lost. A caller that has already waited for
 * the database does not wait for this too.
 */
async function undo(
  { database, metering }: RunStartOptions,
  call: CallContext,
  { draft: { runId, operationId }, error }: { draft: Draft; error: unknown },
): Promise<void> {
  const { orgId } = call.principal;
  const isStored = async () => (await database.tenantQuery(orgId, IS_STORED, [runId])).length > 0;
  const undone = metering.releaseUnless(operationId, isStored);
  if (!isDatabaseAway(error)) await undone;
}
