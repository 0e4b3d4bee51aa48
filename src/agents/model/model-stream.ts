import { carriedOf, carriedOfCall } from './carried.js';
import { isFields, laterUsage, MergedMessage } from '../../providers/index.js';
import type { Chunk } from '../../providers/index.js';

/** A tool call as the model asked for it: `arguments` is JSON text, perhaps broken. */
export interface AskedCall {
  id: string;
  name: string;
  arguments: string;
  /** What it carries for its maker (see CarriedCall). */
  carried?: string | undefined;
}

/** What a model's answer came to. */
export interface ModelAnswer {
  text: string;
  /** What the upstream showed of the model's reasoning. */
  reasoning: string;
  calls: AskedCall[];
  finish: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** What the message carries for its maker (see CarriedTurn). */
  carried?: string | undefined;
  /** As reported, or null. */
  usage: Record<string, unknown> | null;
}

/** Gathers a streamed answer. */
export class AnswerReader {
  readonly answer: ModelAnswer = { text: '', reasoning: '', calls: [], finish: 'stop', usage: null };
  /** The upstream's own id of the answer, as it came. */
  id: unknown = null;
  /** Whether a chunk said that the answer ends. */
  finished = false;
  private readonly byIndex = new Map<number, AskedCall>();
  private readonly message = new MergedMessage();
  private size = 0;

  /** @param maxCharacters more than the model was allowed to say is a broken upstream's */
  constructor(private readonly maxCharacters: number) {}

  take({ parsed, usage }: Chunk): void {
    this.answer.usage = laterUsage(this.answer.usage, usage);
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
    // Said in the place of content: without it the run would end with nothing.
    if (typeof refusal === 'string') this.answer.text += this.bounded(refusal);
  }

  /** The answer is whole: what of it is carried. */
  end(): void {
    const { tool_calls: calls, ...message } = this.message.message();
    this.answer.carried = carriedOf(message);
    const whole = Array.isArray(calls) ? (calls as unknown[]) : [];
    this.answer.calls.forEach((call, at) => {
      const given = whole[at];
      if (isFields(given)) call.carried = carriedOfCall(given);
    });
  }

  /** What is in no text has a bound too. */
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
