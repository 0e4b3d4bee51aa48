import { metadataOf, metadataOfCall } from './provider-metadata.js';
import { isFields, latestUsage, MergedMessage } from '../../providers/index.js';
import type { Chunk } from '../../providers/index.js';

/** A tool call as the model asked for it: `arguments` is JSON text, perhaps broken. */
export interface RequestedToolCall {
  id: string;
  name: string;
  arguments: string;
  /** Its provider-specific parts (see ToolCallMetadata). */
  carried?: string | undefined;
}

/** A model's whole answer. */
export interface ModelAnswer {
  text: string;
  /** The model's reasoning, as far as the upstream shows it. */
  reasoning: string;
  calls: RequestedToolCall[];
  finish: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** The provider-specific parts of the message (see TurnMetadata). */
  carried?: string | undefined;
  /** As reported, or null. */
  usage: Record<string, unknown> | null;
}

/** Collects a streamed answer. */
export class AnswerReader {
  readonly answer: ModelAnswer = { text: '', reasoning: '', calls: [], finish: 'stop', usage: null };
  /** The upstream's own id of the answer, as it came. */
  id: unknown = null;
  /** Whether a chunk said that the answer ends. */
  finished = false;
  private readonly byIndex = new Map<number, RequestedToolCall>();
  private readonly message = new MergedMessage();
  private size = 0;

  /** @param maxCharacters the maximum of the answer; a longer one is a failure of the upstream */
  constructor(private readonly maxCharacters: number) {}

  take({ parsed, usage }: Chunk): void {
    this.answer.usage = latestUsage(this.answer.usage, usage);
    const [choice] = parsed.choices;
    if (choice === undefined) return;
    const finish = choice.finish_reason;
    this.finished ||= finish !== null;
    if (finish === 'length' || finish === 'tool_calls' || finish === 'content_filter')
      this.answer.finish = finish;
    const { delta } = choice;
    this.message.take(this.boundedOthers(delta));
    if (Array.isArray(delta['tool_calls'])) for (const part of delta['tool_calls']) this.call(part);
    const { content, refusal } = delta;
    const reasoning = delta['reasoning_content'] ?? delta['reasoning'];
    if (typeof reasoning === 'string') this.answer.reasoning += this.bounded(reasoning);
    if (typeof content === 'string') this.answer.text += this.bounded(content);
    // A refusal replaces the content: without it the run would end with an empty answer.
    if (typeof refusal === 'string') this.answer.text += this.bounded(refusal);
  }

  /** Called when the answer is complete: its provider-specific parts. */
  end(): void {
    const { tool_calls: calls, ...message } = this.message.message();
    this.answer.carried = metadataOf(message);
    const whole = Array.isArray(calls) ? (calls as unknown[]) : [];
    this.answer.calls.forEach((call, at) => {
      const given = whole[at];
      if (isFields(given)) call.carried = metadataOfCall(given);
    });
  }

  /** The limit also holds for provider-specific parts. */
  private boundedOthers(delta: Record<string, unknown>): Record<string, unknown> {
    for (const name in delta) {
      const value = delta[name];
      if (typeof value === 'object' && value !== null && name !== 'tool_calls')
        this.bounded(JSON.stringify(value));
    }
    return delta;
  }

  private call(part: unknown): void {
    const {
      index,
      id,
      function: given,
    } = (part ?? {}) as {
      index?: unknown;
      id?: unknown;
      function?: { name?: unknown; arguments?: unknown };
    };
    const at = typeof index === 'number' ? index : this.byIndex.size;
    let call = this.byIndex.get(at);
    if (call === undefined) {
      call = { id: typeof id === 'string' ? id : `call_${at}`, name: '', arguments: '' };
      this.byIndex.set(at, call);
      this.answer.calls.push(call);
    }
    if (typeof given?.name === 'string') call.name += this.bounded(given.name);
    if (typeof given?.arguments === 'string') call.arguments += this.bounded(given.arguments);
  }

  private bounded(text: string): string {
    this.size += text.length;
    if (this.size > this.maxCharacters) throw new Error('The upstream says more than it was asked for');
    return text;
  }
}
