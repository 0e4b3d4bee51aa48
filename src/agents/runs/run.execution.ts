import type { Logger } from 'pino';
import type { Authenticator, Principal } from '../../access/access.types.js';
import type { Database } from '../../database/database.types.js';
import { ApiError } from '../../contract/errors.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { FileService } from '../../files/index.js';
import type { Metering } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { runForOrg } from '../../processes/index.js';
import type { Permit } from '../../processes/index.js';
import { UpstreamError } from '../../providers/index.js';
import type { KnowledgeService, MemoryService } from '../agents.types.js';
import type { ModelCaller } from '../model/model-caller.js';
import type { Toolbox, ToolOutcome } from '../tools/tool.types.js';
import { ToolError } from '../tools/tool.types.js';
import { isDatabaseAway } from '../../jobs/index.js';
import type { Hold, LeasedWork } from '../../jobs/index.js';
import { RunFault, RunAbandonedError } from './run.fault.js';
import { RunMeter } from './run.meter.js';
import { UNOBSERVED } from './run.types.js';
import type { RunObserver } from './run.types.js';
import type { RunWriter } from './run.moves.queries.js';
import { materialOf, openingMessages, passagesStep, systemPrompt } from './run.prompt.js';
import { askModel, openRound } from './run.round.js';
import type { RoundAnswer } from './run.round.js';
import type { RunRow } from './run.row.js';
import { persist, RunSession } from './run.session.js';
import type { SessionOptions } from './run.session.js';

export interface ExecutionOptions {
  database: Database;
  authenticator: Pick<Authenticator, 'refresh'>;
  metering: Metering;
  models: ModelCatalogue;
  files: FileService;
  knowledge: Pick<KnowledgeService, 'search'>;
  memory: Pick<MemoryService, 'recall' | 'remember'>;
  caller: ModelCaller;
  toolbox: Toolbox;
  logger: Logger;
  /** Default: none. */
  observe?: RunObserver;
}

/** The parts that the runs of one worker share. */
export interface RunWorkerContext {
  workerId: string;
  writer: RunWriter;
  /** The current principal of the run's key, with the cap of the token that started the run. @throws ApiError unauthorized */
  callerOf(run: Pick<RunRow, 'key_id' | 'token_id'>): Promise<Principal>;
  /** Resolves in a separate turn of the event loop for each run, so that runs that start or continue at the same time let other work run between them. */
  turn(): Promise<void>;
}

/** The worker of one run. */
export interface RunParts extends RunWorkerContext {
  /** The permit that the run holds. */
  permit: Permit;
}

const TOOL_TIMEOUT_MS = 60_000;
const MAX_PASSAGES = 5;
const MAX_MEMORIES = 8;

/** One run that this worker has claimed, until it ends or is returned to the queue. */
export class RunExecution implements LeasedWork {
  readonly hold: Hold;
  /** Resolves when nothing of it runs any more; `left` if another worker is to continue it. Never rejects. */
  readonly ended: Promise<'done' | 'left'>;
  private readonly abort = new AbortController();
  private draining = false;
  private leaving = false;
  private readonly observe: RunObserver;
  /** A word for the kind of its failure. It never contains text of a caller. */
  private failure: string | null = null;

  constructor(
    private readonly options: ExecutionOptions,
    private readonly run: RunRow,
    private readonly workshop: RunParts,
  ) {
    this.hold = { workerId: workshop.workerId, orgId: run.org_id, id: run.id, fence: run.fence };
    this.observe = options.observe ?? UNOBSERVED;
    this.ended = runForOrg(run.org_id, async () => await this.observed(), workshop.permit);
  }

  /** Whether it only waits for time to pass and has released its permit. */
  get rests(): boolean {
    return !this.workshop.permit.held;
  }

  /** Stops after the current round. */
  drain(): void {
    this.draining = true;
  }

  /** Stops a run whose row is already cancelled. */
  cancel(): void {
    this.stop();
  }

  /** Ends all work of the run at once: it was cancelled, lost, or is out of time. */
  stop(): void {
    this.leaving = true;
    this.abort.abort(new RunAbandonedError());
  }

  private async observed(): Promise<'done' | 'left'> {
    const { run, options } = this;
    const provider = options.models.find(run.agent.model)?.upstream?.providerId ?? null;
    let outcome: 'done' | 'left' = 'left';
    await this.observe.run({ ...run, provider }, async () => {
      outcome = await this.whole();
      return this.failure;
    });
    if (run.attachments.some(({ type }) => type === 'image'))
      await options.files.removeFilesOfFailedWork(run.org_id, run.id);
    return outcome;
  }

  private async whole(): Promise<'done' | 'left'> {
    const { logger } = this.options;
    let meter: RunMeter | null = null;
    try {
      const principal = await this.workshop.callerOf(this.run);
      meter = new RunMeter({ metering: this.options.metering, principal, run: this.run, logger });
      return await this.work(await this.open(meter), meter);
    } catch (error) {
      if (error instanceof RunAbandonedError || this.leaving || isDatabaseAway(error)) return 'left';
      return await this.fail(error);
    } finally {
      await meter?.releaseAll();
    }
  }

  private modelOf(): Model {
    return this.options.models.resolve('chat', this.run.agent.model);
  }

  private async open(meter: RunMeter): Promise<RunSession> {
    const { toolbox, logger } = this.options;
    const granted = this.run.agent.tools.flatMap((id) => toolbox.find(id) ?? []);
    const fresh = this.run.state === null;
    const state = this.run.state ?? { writes: 0, system: '', rounds: 0, messages: [], open: null };
    const session = new RunSession({
      writer: this.workshop.writer,
      hold: this.hold,
      state,
      meter,
      logger,
      model: this.modelOf(),
      tools: new Map(granted.map((tool) => [tool.name, tool])),
      runTool: (call) => this.observe.tool(call, () => this.runTool(call, meter)),
      signal: this.abort.signal,
    });
    if (fresh) await this.prepare(session);
    return session;
  }

  /** Looks up memories and passages of files once for the whole run. */
  private async prepare(session: RunSession): Promise<void> {
    const { run, options } = this;
    const { org_id: orgId, agent_id: agentId, end_user: endUser, input: query } = run;
    const memories = run.agent.memoryEnabled
      ? await options.memory.recall({ orgId, agentId, endUser, query, limit: MAX_MEMORIES })
      : [];
    const agentOrgId = run.agent_org_id;
    const passages =
      agentOrgId === null
        ? []
        : await options.knowledge.search({ agentId, agentOrgId, query, limit: MAX_PASSAGES });
    session.state.system = systemPrompt(run, memories, passages);
    if (passages.length > 0)
      session.hold({ type: 'thinking', content: passagesStep(passages, agentOrgId === orgId) });
  }

  /** The run's loop: calls the model and makes the tool calls that it asks for, until it answers without tool calls. */
  private async work(session: RunSession, meter: RunMeter): Promise<'done' | 'left'> {
    const { run, options } = this;
    const opening = await openingMessages(run, options);
    const signal = this.abort.signal;
    const round = { model: this.modelOf(), caller: options.caller, meter, session, opening, signal };
    // The last worker left this round unfinished: its open calls are made now.
    await session.finishRound();
    do {
      await this.workshop.turn();
      const said = await askModel(round, run.agent);
      if (this.leaving) throw new RunAbandonedError();
      if (said.calls.length === 0) {
        await this.finish(session, said);
        return 'done';
      }
      await openRound(round, said);
      await session.finishRound();
    } while (!this.draining);
    return 'left';
  }

  private async runTool(
    { tool, input, tally }: Parameters<SessionOptions['runTool']>[0],
    meter: RunMeter,
  ): Promise<ToolOutcome> {
    const timeout = AbortSignal.timeout(tool.timeoutMs ?? TOOL_TIMEOUT_MS);
    const signal = AbortSignal.any([timeout, this.abort.signal]);
    const { maxTokens, temperature } = this.run.agent;
    const context = {
      orgId: this.run.org_id,
      runId: this.run.id,
      model: this.modelOf(),
      temperature,
      maxTokens,
      meter,
      tally,
      material: (query: string, limit: number) =>
        materialOf(this.run, this.options.knowledge, { query, limit }),
      signal,
    };
    try {
      return await tool.run(input, context);
    } catch (error) {
      if (timeout.aborted && !this.abort.signal.aborted) throw new ToolError('The tool took too long', error);
      throw error;
    }
  }

  private async finish(session: RunSession, said: RoundAnswer): Promise<void> {
    const { answer, operation, tokens, cutByCredits, notes } = said;
    const { run, options } = this;
    const operations = operation === null ? [] : [operation];
    const thinking = [answer.reasoning.trim(), ...notes].filter((text) => text !== '').join('\n');
    const thoughts = thinking === '' ? [] : [{ type: 'thinking' as const, content: thinking }];
    const steps = [...thoughts, { type: 'response' as const, content: answer.text }];
    if (cutByCredits) {
      this.failure = 'quota_exceeded';
      const text = 'Quota exceeded for credits';
      await session.end({ status: 'failed', text, code: 'quota_exceeded' }, { operations, tokens, steps });
      return;
    }
    if (notes.length > 0 && answer.text.trim() === '') {
      // The model only asked for tools although none were offered: that is not an answer.
      this.failure = 'server_error';
      options.logger.error({ runId: run.id }, 'a run failed: in the last round its model asked for tools');
      const text = 'Generation failed';
      const work = { operations, tokens, steps: thoughts };
      await session.end({ status: 'failed', text, code: 'server_error' }, work);
      return;
    }
    if (run.agent.memoryEnabled) {
      const { org_id: orgId, agent_id: agentId, end_user: endUser, id: runId, input: text } = run;
      await options.memory.remember({ orgId, agentId, endUser, runId, text }).catch((error: unknown) => {
        if (isDatabaseAway(error)) throw error;
        options.logger.warn({ err: error, runId }, 'the memories of a run could not be stored');
      });
    }
    const ending = { status: 'completed' as const, text: answer.text, code: null };
    await session.end(ending, { operations, tokens, steps });
  }

  private async fail(error: unknown): Promise<'done' | 'left'> {
    const { logger } = this.options;
    this.failure = error instanceof ApiError ? error.code : error instanceof Error ? error.name : 'error';
    const end = {
      operations: [],
      tokens: 0,
      steps: [],
      status: 'failed' as const,
      text: this.messageOf(error),
      code: codeOf(error),
    };
    try {
      return (await persist(() => this.workshop.writer.end(this.hold, end), logger)) ? 'done' : 'left';
    } catch (cause) {
      logger.error({ err: cause, runId: this.run.id }, 'a run could not be ended');
      return 'left';
    }
  }

  private messageOf(error: unknown): string {
    if (error instanceof RunFault) return error.message;
    if (error instanceof ApiError && error.code !== 'server_error') return error.message;
    if (error instanceof UpstreamError && error.fault === 'rejected') return error.message;
    this.options.logger.error({ err: error, runId: this.run.id }, 'a run failed');
    return 'Generation failed';
  }
}

/** The error that a failed run's record shows. */
function codeOf(error: unknown): ErrorCode {
  const known = [error, error instanceof Error ? error.cause : null].find(
    (fault) => fault instanceof ApiError,
  );
  if (known !== undefined) return known.code;
  return error instanceof UpstreamError && error.fault === 'rejected' ? 'invalid_request' : 'server_error';
}
