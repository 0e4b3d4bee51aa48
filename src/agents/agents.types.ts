import type { Principal } from '../access/access.types.js';
import type { Page, PageQuery } from '../collections/page.js';
import type { Sql } from '../database/database.types.js';
import type { FileSource } from '../files/files.types.js';
import type { KeyedCall } from '../idempotency/idempotency.types.js';
import type { CallContext } from '../metering/call-context.js';

export const TEMPLATE_CATEGORIES = [
  'research',
  'content',
  'coding',
  'analysis',
  'support',
  'productivity',
] as const;
export type TemplateCategory = (typeof TEMPLATE_CATEGORIES)[number];

/** What an agent's owner may set (contract 4.8). */
export interface AgentInput {
  name: string;
  description: string;
  icon: string;
  systemPrompt: string;
  model: string;
  tools: string[];
  temperature: number;
  maxTokens: number;
  maxIterations: number;
  memoryEnabled: boolean;
  isPublic: boolean;
}

/** Contract 2.11. Templates have no organisation. */
export interface Agent extends AgentInput {
  id: string;
  orgId: string | null;
  isTemplate: boolean;
  templateCategory: TemplateCategory | null;
  runCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export type RunStatus = 'running' | 'completed' | 'failed' | 'cancelled';
export type StepType = 'thinking' | 'tool_call' | 'tool_result' | 'response' | 'error';

/** A step as it is stored (contract 2.12); in the stream `step_type` is `type` and `tool_name` is `tool` (contract 6.2). */
export interface RunStep {
  stepNumber: number;
  stepType: StepType;
  content: string | null;
  toolName: string | null;
  toolInput: Record<string, unknown> | null;
  toolOutput: Record<string, unknown> | null;
  createdAt: Date;
  /** Tokens and credits of the run, up to and with this step. */
  runTokens: number;
  runCredits: number;
}

/** Contract 2.12. */
export interface AgentRun {
  id: string;
  orgId: string;
  agentId: string;
  sessionId: string;
  status: RunStatus;
  input: string;
  output: string | null;
  errorMessage: string | null;
  totalSteps: number;
  tokensUsed: number;
  /** Whole credits: base, model calls and tools. */
  creditsUsed: number;
  durationMs: number | null;
  createdAt: Date;
  completedAt: Date | null;
  /** Sequence of its last event; 1 is `start`. */
  sequence: number;
}

/** One event of a run's stream (contract 6.2); the sequence is SSE's `id:` and GraphQL's `after:`. */
export interface RunEvent {
  sequence: number;
  type: 'start' | 'step' | 'done' | 'error';
  /** The payload of 6.2 in its own spelling, without `type`. */
  data: Record<string, unknown>;
  createdAt: Date;
  /** The run as of this event. */
  run: AgentRun;
}

/** Live events of runs for the subscribers of one process; the database's events are the truth. */
export interface RunEvents {
  /**
   * Without `after` the first event is the latest stored one; with it, exactly the following ones. Ends after `done` or `error`.
   * @throws ApiError not_found `Run not found`; invalid_request for an `after` that is beyond the last event
   */
  steps(query: {
    principal: Principal;
    agentId: string | null;
    runId: string;
    after?: number;
  }): Promise<AsyncIterableIterator<RunEvent>>;
  /**
   * All runs' events of an organisation, or those of one run or agent (null: of none): from now on, or from the cursor of an earlier item.
   * @throws ApiError invalid_request for an invalid cursor
   */
  updates(query: {
    orgId: string;
    agentId?: string | null;
    runId?: string | null;
    after?: string;
  }): Promise<AsyncIterableIterator<RunEvent & { cursor: string }>>;
}

/** The position of a run, of any organisation. */
export interface RunPosition {
  id: string;
  sequence: number;
}

export type { Page };

export interface AgentService {
  /** @throws ApiError plan_required `AI Agents are not available`, quota_exceeded `Agent limit reached`, invalid_request … */
  create(call: KeyedCall, body: Record<string, unknown>): Promise<Agent>;
  list(
    principal: Principal,
    query: PageQuery & { includeTemplates: boolean; templateCategory?: string },
  ): Promise<Page<Agent>>;
  /** The organisation's own, a template, or a public one. @throws ApiError not_found `Agent not found` */
  get(principal: Principal, id: string): Promise<Agent>;
  /** Reads many at once; ids that {@link get} would not find are left out. */
  getMany(principal: Principal, ids: string[]): Promise<Agent[]>;
  update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Agent>;
  /** Answers the agent as it was. */
  delete(principal: Principal, id: string): Promise<Agent>;
  duplicate(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Agent>;
}

/** A file that came with the task of a run. */
export interface AttachedFile {
  type: 'image' | 'document';
  name: string;
  /** The stored image; null for a document, of which only the text is kept, and for an image that was removed. */
  file: { id: string; extension: string } | null;
}

export interface AgentRunService {
  /** Admits (windows, agent_runs and base credits) and stores the run; a worker takes it from there. */
  start(call: CallContext, agentId: string, body: Record<string, unknown>): Promise<AgentRun>;
  list(
    principal: Principal,
    agentId: string,
    query: PageQuery & { status?: RunStatus; sessionId?: string },
  ): Promise<Page<AgentRun>>;
  /** @throws ApiError not_found `Run not found`; its steps by `steps` */
  get(principal: Principal, agentId: string | null, runId: string): Promise<AgentRun>;
  /** Reads many at once; ids that {@link get} would not find are left out. */
  getMany(principal: Principal, runIds: string[]): Promise<AgentRun[]>;
  /** The steps of each run in order, of many runs in one read; a run without steps has an empty list. */
  stepsOf(orgId: string, runIds: string[]): Promise<Map<string, RunStep[]>>;
  /** The attachments of each run in the caller's order, of many runs in one read; a run without attachments is left out. */
  attachmentsOf(orgId: string, runIds: string[]): Promise<Map<string, AttachedFile[]>>;
  /** @throws ApiError not_found, invalid_request `Cannot cancel completed run` */
  cancel(principal: Principal, agentId: string | null, runId: string): Promise<AgentRun>;
  /** Events with sequence > after, in order. */
  events(orgId: string, runId: string, after: number, limit: number): Promise<RunEvent[]>;
  /** Positions of many runs in one read; unknown ids are left out. */
  positions(runIds: string[]): Promise<RunPosition[]>;
}

/** decisions 6 "Agents". */
export interface KnowledgeFile {
  id: string;
  agentId: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  status: 'pending' | 'processing' | 'completed' | 'failed';
  errorMessage: string | null;
  chunkCount: number;
  createdAt: Date;
  updatedAt: Date;
}

/** A passage that retrieval found. */
export interface Passage {
  fileId: string;
  filename: string;
  /** From 0 within the file. */
  position: number;
  text: string;
  score: number;
}

/** A document that a run was given or fetched. */
export interface SourceDocument {
  orgId: string;
  bytes: Buffer;
  filename: string;
  signal: AbortSignal;
}

/** The beginning of a document's text, and whether it goes on. */
export interface ExtractedText {
  text: string;
  cut: boolean;
}

/** A knowledge file, and the stored copy of its bytes. */
export interface CopiedFile {
  sourceId: string;
  fileId: string;
}

export interface KnowledgeService {
  /**
   * Keeps an upload, from memory or from the spool (then its bytes are never whole in memory).
   * @throws ApiError payload_too_large, invalid_request `Unsupported file type`, quota_exceeded `Knowledge file limit reached`
   */
  upload(
    call: KeyedCall,
    agentId: string,
    file: { filename: string; open(): FileSource | Promise<FileSource> },
  ): Promise<KnowledgeFile>;
  /** An agent's files, newest first. @throws ApiError invalid_request for a cursor that is none */
  page(principal: Principal, agentId: string, query: PageQuery): Promise<Page<KnowledgeFile>>;
  get(principal: Principal, agentId: string, fileId: string): Promise<KnowledgeFile>;
  /** Those of these ids that the organisation has, whatever their agents. */
  getMany(principal: Principal, ids: readonly string[]): Promise<KnowledgeFile[]>;
  /** Answers the file as it was. */
  delete(principal: Principal, agentId: string, fileId: string): Promise<KnowledgeFile>;
  /** Deletes all files of a deleted agent. A file that another call deletes meanwhile is no failure. */
  forgetAgent(orgId: string, agentId: string): Promise<void>;
  /**
   * Bytes of the organisation's files of an agent, copied for a duplicate, so that each agent may delete its own. A caller that does not attach the copies must delete them.
   * @throws quota_exceeded `Storage limit reached`
   */
  copyBytes(principal: Principal, agentId: string): Promise<CopiedFile[]>;
  forgetCopies(orgId: string, copies: CopiedFile[]): Promise<void>;
  /** In the transaction that makes the duplicate: adds its files. Passages are copied too, if there are few. */
  attach(sql: Sql, to: { orgId: string; agentId: string }, copies: CopiedFile[]): Promise<void>;
  /** Hybrid retrieval: full text and vectors, fused. `agentOrgId`: the organisation that owns the files (a public agent's owner). */
  search(input: { agentId: string; agentOrgId: string; query: string; limit: number }): Promise<Passage[]>;
  /**
   * The beginning of the text of a document given with a run (attachments) or fetched, within the same limits.
   * @throws ApiError invalid_request; unavailable while too many are read
   */
  extract(document: SourceDocument, maxCharacters: number): Promise<ExtractedText>;
}

export interface Memory {
  id: string;
  agentId: string;
  /** The run's `user`, or null for the callers that named none. */
  endUser: string | null;
  content: string;
  createdAt: Date;
}

export interface MemoryService {
  /** Deletes all memories of an agent that is being deleted. */
  forgetAgent(agentId: string): Promise<void>;
  /** Keeps what the user told (facts, preferences) in one run's input. */
  remember(input: {
    orgId: string;
    agentId: string;
    endUser: string | null;
    runId: string;
    text: string;
  }): Promise<void>;
  /** The memories that match the input best; equal ones newest first. */
  recall(input: {
    orgId: string;
    agentId: string;
    endUser: string | null;
    query: string;
    limit: number;
  }): Promise<Memory[]>;
  list(principal: Principal, agentId: string, query: PageQuery & { endUser?: string }): Promise<Page<Memory>>;
  /** Those of these ids that the organisation has, whatever their agents. */
  getMany(principal: Principal, ids: readonly string[]): Promise<Memory[]>;
  /** Answers the memory as it was. */
  delete(principal: Principal, id: string): Promise<Memory>;
}
