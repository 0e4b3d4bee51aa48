import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.js';
import type { AgentTool, ToolOutcome } from '../tools/tool.types.js';
import { ToolError } from '../tools/tool.types.js';
import { isDatabaseAway, RunLeft } from './run.fault.js';
import type { RunMeter } from './run.meter.js';
import type { Hold, RunWriter, Work } from './run.moves.queries.js';
import type { NewStep, PendingCall, RunState } from './run.types.js';
import { persist } from './run.write.js';
import { markUntrusted } from './untrusted.js';

export interface SessionOptions {
  writer: RunWriter;
  hold: Hold;
  state: RunState;
  meter: RunMeter;
  logger: Logger;
  /** Granted tools by the name that the model calls them by. */
  tools: ReadonlyMap<string, AgentTool>;
  runTool(call: { tool: AgentTool; callId: string; input: unknown }): Promise<ToolOutcome>;
  /** Ends everything that the run has under way. */
  abort: AbortController;
}

/** A run in a worker's hands: its state and every write of it. Each write is one transaction under the run's fence. */
export class RunSession {
  /** Why the run cannot go on; the first one holds. */
  fault: unknown = null;
  private held: NewStep[] = [];

  constructor(private readonly options: SessionOptions) {}

  get state(): RunState {
    return this.options.state;
  }

  get tools(): ReadonlyMap<string, AgentTool> {
    return this.options.tools;
  }

  /** Ends the run's work: the loop stops at once. */
  stop(fault: unknown): void {
    this.fault ??= fault;
    this.options.abort.abort();
  }

  /** A step that is written with the next one: what goes before the first model call is no work yet. */
  hold(step: NewStep): void {
    this.held.push(step);
  }

  /** @throws RunLeft where the run is not ours any more; its reservations are given back then */
  async advance(work: Work): Promise<void> {
    this.state.writes += 1;
    const whole = { ...work, steps: [...this.held, ...work.steps], state: this.state };
    await this.write(whole, () => this.options.writer.advance(this.options.hold, whole));
    this.held = [];
  }

  /** The last write. @throws RunLeft */
  async end(status: 'completed' | 'failed', text: string, work: Work): Promise<void> {
    const end = { ...work, steps: [...this.held, ...work.steps], status, text };
    await this.write(end, () => this.options.writer.end(this.options.hold, end));
  }

  /** The round that is over becomes part of what was said. */
  closeRound(): void {
    const { open, messages } = this.state;
    if (open === null) return;
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

  /** Does a call of the open round, unless it was done already. @returns what the model is told @throws RunFault, RunLeft */
  async call(id: string): Promise<{ text: string; isError: boolean }> {
    const call = this.state.open?.calls.find((candidate) => candidate.id === id);
    const tool = call === undefined ? undefined : this.options.tools.get(call.tool);
    if (call === undefined || tool === undefined) return { text: 'There is no such tool', isError: true };
    return (call.result ??= await this.perform(call, tool));
  }

  private async perform(call: PendingCall, tool: AgentTool): Promise<NonNullable<PendingCall['result']>> {
    if (!call.announced) {
      call.announced = true;
      const step = { type: 'tool_call' as const, tool: tool.id, input: call.input };
      await this.advance({ operations: [], tokens: 0, steps: [step] });
    }
    let reserved: string | null = null;
    let outcome: ToolOutcome;
    try {
      if (call.fault !== undefined) throw new ToolError(call.fault);
      const input = tool.parse(call.input);
      reserved = await this.options.meter.reserveTool(tool.credits);
      outcome = await this.options.runTool({ tool, callId: call.id, input });
    } catch (error) {
      const message = this.messageOf(error, tool);
      const operations = reserved === null ? [] : [this.options.meter.ended(reserved, null)];
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
    const price = [tool.credits * 100, 0, 0, 0, 0, 0, 0, 0, 0];
    const own = reserved === null ? [] : [this.options.meter.ended(reserved, price)];
    await this.advance({
      operations: [...own, ...operations],
      tokens,
      steps: [{ type: 'tool_result', tool: tool.id, output }],
    });
    return result;
  }

  /** What the model is told of a tool's failure. @throws what ends the run */
  private messageOf(error: unknown, tool: AgentTool): string {
    if (error instanceof ToolError) return error.message;
    if (this.options.abort.signal.aborted) throw this.fault ?? new RunLeft();
    if (error instanceof Error && (error.name === 'RunFault' || error.name === 'RunLeft')) throw error;
    if (isDatabaseAway(error)) throw error;
    if (error instanceof ApiError && error.code !== 'server_error') return error.message;
    this.options.logger.warn({ err: error, tool: tool.id, runId: this.options.hold.id }, 'a tool failed');
    return 'Tool failed';
  }

  private async write(work: Work, move: () => Promise<boolean>): Promise<void> {
    if (await persist(move, this.options.logger)) return;
    for (const { id } of work.operations) await this.options.meter.release(id);
    throw new RunLeft();
  }
}

/** A run's own notes on a message or a part of it, where the loop hands them on. */
function notes(carried: object | undefined): { providerOptions?: { penstock: Record<string, string> } } {
  return carried === undefined
    ? {}
    : { providerOptions: { penstock: { ...carried } as Record<string, string> } };
}

/** What the model reads of a result or an error. */
function toldOf(text: string, source: string | undefined): string {
  return source === undefined ? text : markUntrusted(source, text);
}
