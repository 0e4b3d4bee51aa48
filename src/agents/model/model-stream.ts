import { parseChunk } from '../../generation/index.js';
import type { Chunk } from '../../generation/index.js';
import type { ChatCall, ChatChunks, ChatProvider } from '../../providers/index.js';

/** A tool call as the model asked for it: `arguments` is JSON text, perhaps broken. */
export interface AskedCall {
  id: string;
  name: string;
  arguments: string;
}

/** What a model's answer came to. */
export interface ModelAnswer {
  text: string;
  /** What the upstream showed of the model's reasoning. */
  reasoning: string;
  calls: AskedCall[];
  finish: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** As reported, or null. */
  usage: unknown;
}

/** Opens a stream and reads its first chunk: what fails until then can still be tried elsewhere. */
export async function openStream(
  provider: ChatProvider,
  call: ChatCall,
): Promise<{ chunks: ChatChunks; first: Chunk }> {
  const chunks = await provider.stream(call);
  try {
    return { chunks, first: parseChunk((await chunks.next()) ?? '') };
  } catch (error) {
    chunks.cancel();
    throw error;
  }
}

/** Gathers a streamed answer. */
export class AnswerReader {
  readonly answer: ModelAnswer = { text: '', reasoning: '', calls: [], finish: 'stop', usage: null };
  private readonly byIndex = new Map<number, AskedCall>();
  private size = 0;

  /** @param maxCharacters more than the model was allowed to say is a broken upstream's */
  constructor(private readonly maxCharacters: number) {}

  take({ parsed }: Chunk): void {
    const { usage } = parsed;
    if (typeof usage === 'object' && usage !== null) this.answer.usage = usage;
    const [choice] = parsed.choices;
    if (choice === undefined) return;
    const finish = choice.finish_reason;
    if (finish === 'length' || finish === 'tool_calls' || finish === 'content_filter')
      this.answer.finish = finish;
    const delta = choice.delta ?? {};
    if (Array.isArray(delta['tool_calls'])) for (const part of delta['tool_calls']) this.call(part);
    const { reasoning_content: reasoning, content } = delta;
    if (typeof reasoning === 'string') this.answer.reasoning += this.bounded(reasoning);
    if (typeof content === 'string') this.answer.text += this.bounded(content);
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
