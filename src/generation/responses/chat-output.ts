import type {
  ResponseOutputMessage,
  ResponseOutputText,
  ResponseReasoningItem,
} from 'openai/resources/responses/responses';
import type { EndStatus } from '../dialects/calls.js';
import { ChatOutput } from '../dialects/chat-output.js';
import type { TextKind, Sealing } from '../dialects/chat-output.js';
import type { Fields } from '../dialects/checks.js';
import { ItemCalls } from './calls.js';
import type { EventLog } from './events.js';
import { itemId } from './request.js';

type Logprobs = NonNullable<ResponseOutputText['logprobs']>;

/** The item that currently gets texts. */
interface OpenText {
  kind: TextKind;
  id: string;
  index: number;
  pieces: string[];
  logprobs: Logprobs;
  /** For a text: the JSON of each delta before its number, and between its number and its text. Null for other kinds. */
  written: readonly [string, string] | null;
}

export interface ItemOutputOptions extends Sealing {
  log: EventLog;
  /** All items of the response, in order; items of this round are added. */
  items: Fields[];
  custom: ReadonlySet<string>;
  /** The function that replaces web search. */
  search: string | null;
  /** The id of its first message if another process began it. */
  messageId?: string | undefined;
  /** The open message if an upstream of the dialect began it. */
  begun?: BegunMessage | null | undefined;
}

/** A message with one text, which has not ended. */
export interface BegunMessage {
  id: string;
  index: number;
  text: string;
}

/** Writes a chat's deltas as the items of a response. */
export class ItemOutput extends ChatOutput {
  private open: OpenText | null = null;
  private messageId: string | undefined;

  constructor(private readonly options: ItemOutputOptions) {
    super(options, new ItemCalls(options));
    this.messageId = options.messageId;
    const { begun } = options;
    if (begun != null) this.open = { ...openText(begun), pieces: [begun.text] };
  }

  plain(literal: string): boolean {
    const { open } = this;
    if (open === null || open.written === null || open.kind !== 'text') return false;
    open.pieces.push(JSON.parse(literal) as string);
    this.options.log.pushWritten(open.written[0], `${open.written[1]}${literal},"logprobs":[]}`);
    return true;
  }

  protected writeSeal(seal: string): void {
    const item: ResponseReasoningItem = {
      id: itemId('reasoning'),
      type: 'reasoning',
      summary: [],
      encrypted_content: seal,
    };
    const index = this.options.items.push({ ...item }) - 1;
    this.options.log.push({ type: 'response.output_item.added', output_index: index, item });
    this.options.log.push({ type: 'response.output_item.done', output_index: index, item });
  }

  protected text(kind: TextKind, text: string, logprobs: unknown): void {
    if (this.open?.kind !== kind) {
      this.closeText('completed');
      this.calls.closeWhole();
      this.open = kind === 'thought' ? this.openReasoning() : this.openMessage(kind);
    }
    const { id: item_id, index: output_index, pieces, logprobs: known } = this.open as OpenText;
    const { log } = this.options;
    pieces.push(text);
    const place = { item_id, output_index, delta: text };
    if (kind === 'thought')
      return log.push({ type: 'response.reasoning_summary_text.delta', summary_index: 0, ...place });
    if (kind === 'refusal') return log.push({ type: 'response.refusal.delta', content_index: 0, ...place });
    const list = Array.isArray(logprobs) ? (logprobs as Logprobs) : [];
    known.push(...list);
    log.push({ type: 'response.output_text.delta', content_index: 0, ...place, logprobs: list });
  }

  private openReasoning(): OpenText {
    const { log, items } = this.options;
    const id = itemId('reasoning');
    const item: ResponseReasoningItem = { id, type: 'reasoning', summary: [], status: 'in_progress' };
    const index = items.push({ ...item }) - 1;
    log.push({ type: 'response.output_item.added', output_index: index, item });
    log.push({
      type: 'response.reasoning_summary_part.added',
      item_id: id,
      output_index: index,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    });
    return { kind: 'thought', id, index, pieces: [], logprobs: [], written: null };
  }

  private openMessage(kind: 'text' | 'refusal'): OpenText {
    const { log, items } = this.options;
    const id = this.messageId ?? itemId('message');
    this.messageId = undefined;
    const item: ResponseOutputMessage = {
      id,
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
    };
    const index = items.push({ ...item }) - 1;
    log.push({ type: 'response.output_item.added', output_index: index, item });
    const part = partOf({ kind, text: '', logprobs: [] });
    log.push({
      type: 'response.content_part.added',
      item_id: id,
      output_index: index,
      content_index: 0,
      part,
    });
    return { ...openText({ id, index }), kind };
  }

  protected closeText(status: EndStatus): void {
    const { open } = this;
    this.open = null;
    if (open === null) return;
    const text = open.pieces.join('');
    const item =
      open.kind === 'thought' ? this.closeReasoning(open, text) : this.closeMessage(open, { text, status });
    this.options.items[open.index] = { ...item };
    this.options.log.push({ type: 'response.output_item.done', output_index: open.index, item });
  }

  private closeReasoning({ id, index }: OpenText, text: string): ResponseReasoningItem {
    const { log } = this.options;
    const place = { item_id: id, output_index: index, summary_index: 0 };
    const part = { type: 'summary_text' as const, text };
    log.push({ type: 'response.reasoning_summary_text.done', ...place, text });
    log.push({ type: 'response.reasoning_summary_part.done', ...place, part });
    const seal = this.newSeal();
    return {
      id,
      type: 'reasoning',
      summary: [part],
      status: 'completed',
      ...(seal === null ? {} : { encrypted_content: seal }),
    };
  }

  private closeMessage(
    { kind, id, index, logprobs }: OpenText,
    { text, status }: { text: string; status: EndStatus },
  ): ResponseOutputMessage {
    const { log } = this.options;
    const place = { item_id: id, output_index: index, content_index: 0 };
    const part = partOf({ kind, text, logprobs });
    if (kind === 'refusal') log.push({ type: 'response.refusal.done', ...place, refusal: text });
    else log.push({ type: 'response.output_text.done', ...place, text, logprobs });
    log.push({ type: 'response.content_part.done', ...place, part });
    return { id, type: 'message', status, role: 'assistant', content: [part] };
  }
}

function openText({ id, index }: { id: string; index: number }): OpenText {
  const before = '{"type":"response.output_text.delta","sequence_number":';
  const after = `,"item_id":${JSON.stringify(id)},"output_index":${index},"content_index":0,"delta":`;
  return { kind: 'text', id, index, pieces: [], logprobs: [], written: [before, after] };
}

function partOf({ kind, text, logprobs }: { kind: TextKind; text: string; logprobs: Logprobs }) {
  if (kind === 'refusal') return { type: 'refusal' as const, refusal: text };
  return { type: 'output_text' as const, text, annotations: [], logprobs };
}
