import type { ClientInfo } from '../../contract/words.js';
import type { Attribution } from '../../metering/metering.types.js';
import type { AgentRun, AttachedFile, RunEvent, RunStatus, RunStep, StepType } from '../agents.types.js';
import type { RunAttachment, RunState, UsedAgent } from './run.types.js';

/** A row of `agent_runs`. bigint columns come as strings. */
export interface RunRow {
  id: string;
  org_id: string;
  user_id: string;
  key_id: string;
  /** The client token that started the run; null: none did. */
  token_id: string | null;
  agent_id: string;
  agent_org_id: string | null;
  agent: UsedAgent;
  session_id: string;
  /** The end user whose memories the run uses. */
  end_user: string | null;
  attribution: Attribution;
  status: RunStatus;
  input: string;
  attachments: RunAttachment[];
  history: { role: 'user' | 'assistant'; content: string }[];
  output: string | null;
  error_message: string | null;
  total_steps: number;
  tokens_used: string;
  credits_used: string;
  operation_id: string;
  request_id: string;
  client: ClientInfo;
  state: RunState | null;
  sequence: number;
  fence: number;
  created_at: Date;
  completed_at: Date | null;
}

/** The columns that the APIs show of a run. */
export const RUN_COLUMNS = `id, org_id, agent_id, session_id, status, input, output, error_message, total_steps, tokens_used, credits_used,
  sequence, created_at, completed_at`;

const RUN_ID = /^run_[0-9a-z]{26}$/;

/** An impossible id is unknown without a query. */
export function isRunId(id: string): boolean {
  return RUN_ID.test(id);
}

export function toRun(row: RunRow): AgentRun {
  const { completed_at: completedAt, created_at: createdAt } = row;
  return {
    id: row.id,
    orgId: row.org_id,
    agentId: row.agent_id,
    sessionId: row.session_id,
    status: row.status,
    input: row.input,
    output: row.output,
    errorMessage: row.error_message,
    totalSteps: row.total_steps,
    tokensUsed: Number(row.tokens_used),
    creditsUsed: Number(row.credits_used) / 100,
    durationMs: completedAt === null ? null : completedAt.getTime() - createdAt.getTime(),
    createdAt,
    completedAt,
    sequence: row.sequence,
  };
}

export interface AttachmentRow {
  run_id: string;
  type: RunAttachment['type'];
  name: string;
  /** Null with its extension: no file is stored. */
  file_id: string | null;
  extension: string | null;
}

export function toAttachedFile({ type, name, file_id: id, extension }: AttachmentRow): AttachedFile {
  return { type, name, file: id === null || extension === null ? null : { id, extension } };
}

export interface StepRow {
  run_id: string;
  step_number: number;
  step_type: StepType;
  content: string | null;
  tool_name: string | null;
  tool_input: Record<string, unknown> | null;
  tool_output: Record<string, unknown> | null;
  created_at: Date;
  tokens_used: string;
  credits_used: string;
}

export function toStep(row: StepRow): RunStep {
  return {
    stepNumber: row.step_number,
    stepType: row.step_type,
    content: row.content,
    toolName: row.tool_name,
    toolInput: row.tool_input,
    toolOutput: row.tool_output,
    createdAt: row.created_at,
    runTokens: Number(row.tokens_used),
    runCredits: Number(row.credits_used) / 100,
  };
}

export type EventRow = RunRow & {
  e_sequence: number;
  e_type: RunEvent['type'];
  e_data: Record<string, unknown>;
  e_status: RunStatus;
  e_total_steps: number;
  e_tokens_used: string;
  e_credits_used: string;
  e_created_at: Date;
};

/** An event with the run as it was at that time: later changes are undone. */
export function toEvent(row: EventRow): RunEvent {
  const last = row.e_sequence === row.sequence;
  const run = toRun({
    ...row,
    status: row.e_status,
    total_steps: row.e_total_steps,
    tokens_used: row.e_tokens_used,
    credits_used: row.e_credits_used,
    sequence: row.e_sequence,
    ...(last ? {} : { output: null, error_message: null, completed_at: null }),
  });
  return { sequence: row.e_sequence, type: row.e_type, data: row.e_data, createdAt: row.e_created_at, run };
}
