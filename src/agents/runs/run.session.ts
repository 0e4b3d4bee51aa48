import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.js';
import { CANCELLED, OperationTally, SUCCEEDED, toVector } from '../../metering/index.js';
import type { OperationEnding } from '../../metering/index.js';
import type { AgentTool, ToolOutcome } from '../tools/tool.types.js';
import { ToolError } from '../tools/tool.types.js';
import type { Model } from '../../models/models.types.js';
import { isDatabaseAway } from '../../jobs/index.js';
import type { Hold } from '../../jobs/index.js';
import { RunAbandonedError } from './run.fault.js';
import type { RunMeter } from './run.meter.js';
import type { End, RunWriter, Work } from './run.moves.queries.js';
import type { NewStep, PendingCall, RunState } from './run.types.js';
import { markUntrusted } from './run.prompt.js';

const RETRY_MS = 300;
const RETRY_FOR_MS = 20_000;

export interface SessionOptions {
  writer: RunWriter;
  hold: Hold;
  state: RunState;
  meter: RunMeter;
  logger: Logger;
  /** The agent's own. */
  model: Model;
  /** Granted tools by the name that the model calls them by. */
  tools: ReadonlyMap<string, AgentTool>;
  /** @param call with the tally of the tool's operation */
  runTool(call: {
    tool: AgentTool;
    callId: string;
    input: unknown;
    tally: OperationTally;
  }): Promise<ToolOutcome>;
  /** Fires when the worker loses the run. */
  signal: AbortSignal;
}

/** The state of a run that a worker holds, and all of its writes. Each write is one transaction that checks the run's fence. */
export class RunSession {
  private held: NewStep[] = [];

  constructor(private readonly options: SessionOptions) {}

  get state(): RunState {
    return this.options.state;
  }

  get tools(): ReadonlyMap<string, AgentTool> {
    return this.options.tools;
  }

  /** A step that is written together with the next one: before the first model call there is no work to write. */
  hold(step: NewStep): void {
    this.held.push(step);
  }

  /** @throws RunAbandonedError where the run is not ours any more; its reservations are given back then */
  async advance(work: Work): Promise<void> {
    this.state.writes += 1;
    const whole = { ...work, steps: [...this.held, ...work.steps], state: this.state };
    await this.write(whole, () => this.options.writer.advance(this.options.hold, whole));
    this.held = [];
  }

  /** Writes the end of the run. @throws RunAbandonedError */
  async end(ending: Omit<End, keyof Work>, work: Work): Promise<void> {
    const end = { ...work, ...ending, steps: [...this.held, ...work.steps] };
    await this.write(end, () => this.options.writer.end(this.options.hold, end));
  }

  /** Makes the calls of the open round, if there is one, one after the other. The round then becomes part of the conversation. @throws RunFault, RunAbandonedError */
  async finishRound(): Promise<void> {
    const { open, messages } = this.state;
    if (open === null) return;
    for (const call of open.calls) {
      const tool = this.options.tools.get(call.tool);
      call.result ??=
        tool === undefined
          ? { text: 'There is no such tool', isError: true }
          : await this.perform(call, tool);
    }
    const calls = open.calls.map(({ id, tool, input, carried }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: tool,
      input,
      ...notes(carried),
    }));
    const text = open.text === '' ? [] : [{ type: 'text' as const, text: open.text }];
    messages.push({ role: 'assistant', content: [...text, ...calls], ...notes(open.carried) });
    messages.push({
      role: 'tool',
      content: open.calls.map(({ id, tool, result, carried }) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: tool,
        output: {
          type: result?.isError === false ? 'text' : 'error-text',
          value: result?.text ?? 'Not done',
        },
        ...notes(carried && { id: carried.id }),
      })),
    });
    this.state.open = null;
  }

  private async perform(call: PendingCall, tool: AgentTool): Promise<NonNullable<PendingCall['result']>> {
    if (!call.announced) {
      call.announced = true;
      const step = { type: 'tool_call' as const, tool: tool.id, input: call.input };
      await this.advance({ operations: [], tokens: 0, steps: [step] });
    }
    const { meter } = this.options;
    const tally = new OperationTally();
    let reserved: string | null = null;
    let outcome: ToolOutcome;
    try {
      if (call.fault !== undefined) throw new ToolError(call.fault);
      const input = tool.parse(call.input);
      const costs = tool.costs?.bind(tool);
      const { model } = this.options;
      reserved = await meter.reserveTool(
        tool.credits,
        costs && ((principal) => costs(input, { principal, model })),
      );
      outcome = await this.options.runTool({ tool, callId: call.id, input, tally });
    } catch (error) {
      if (reserved !== null) meter.costs(reserved, tally.outcome(CANCELLED));
      const message = this.messageOf(error, tool);
      const operations =
        reserved === null ? [] : [meter.ended(reserved, null, tally.outcome(failureOf(error)))];
      const source = error instanceof ToolError ? error.source : undefined;
      const result = { text: toldOf(message, source), isError: true };
      call.result = result;
      await this.advance({
        operations,
        tokens: 0,
        steps: [{ type: 'tool_result', tool: tool.id, output: { error: message } }],
      });
      return result;
    }
    const { output, source, operations = [], tokens = 0 } = outcome;
    const result = { text: toldOf(outcome.text ?? JSON.stringify(output), source), isError: false };
    call.result = result;
    const price = toVector({ credits: tool.credits * 100 });
    const own = reserved === null ? [] : [meter.ended(reserved, price, tally.outcome(SUCCEEDED))];
    await this.advance({
      operations: [...own, ...operations],
      tokens,
      steps: [{ type: 'tool_result', tool: tool.id, output }],
    });
    return result;
  }

  /** The text that reports a tool's failure to the model. @throws errors that end the run */
  private messageOf(error: unknown, tool: AgentTool): string {
    if (error instanceof ToolError) return error.message;
    if (this.options.signal.aborted) throw new RunAbandonedError();
    if (error instanceof Error && (error.name === 'RunFault' || error.name === 'RunAbandonedError'))
      throw error;
    if (isDatabaseAway(error)) throw error;
    if (error instanceof ApiError && error.code !== 'server_error') return error.message;
    this.options.logger.warn({ err: error, tool: tool.id, runId: this.options.hold.id }, 'a tool failed');
    return 'Tool failed';
  }

  private async write(work: Work, move: () => Promise<boolean>): Promise<void> {
    if (await persist(move, this.options.logger)) return;
    for (const { id } of work.operations) await this.options.meter.release(id);
    throw new RunAbandonedError();
  }
}

const failureOf = (error: unknown): OperationEnding => ({
  status: 'failed',
  errorCode: error instanceof ApiError ? error.code : 'server_error',
});

/** The run's notes on a message or a part of it. */
function notes(carried: object | undefined): { providerOptions?: { penstock: Record<string, string> } } {
  return carried === undefined
    ? {}
    : { providerOptions: { penstock: { ...carried } as Record<string, string> } };
}

/** The text of a result or an error for the model. */
function toldOf(text: string, source: string | undefined): string {
  return source === undefined ? text : markUntrusted(source, text);
}

/**
 * Repeats a write of a run until the database has decided, as long as the lease may be valid. The write must be repeatable, because its
 * answer may have been lost.
 */
export async function persist(write: () => Promise<boolean>, logger: Logger): Promise<boolean> {
  const until = performance.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isTransient(error) || performance.now() > until) throw error;
      logger.warn({ err: error }, 'a step of a run could not be written yet');
      await sleep(RETRY_MS);
    }
  }
}

/** Whether a repetition may succeed. If PostgreSQL refused the statement itself, it would refuse it again. */
function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return !(typeof code === 'string' && /^(22|23|42|P0)/.test(code) && code.length === 5);
}
