import type { RawContentBlockDelta, RawContentBlockStartEvent } from '@anthropic-ai/sdk/resources/messages';
import { isFields } from '../../providers/index.js';
import type { Carried } from '../carried-seal.js';
import type { Fields } from '../dialects/checks.js';
import { BlockCalls } from './calls.js';
import type { AskedCall } from '../dialects/calls.js';
import type { MessageLog } from './events.js';

type NewBlock = RawContentBlockStartEvent['content_block'];

/** Without citations a text has no list of them: clients read null as a fault, whatever the maker's types say. */
const textBlock = (text: string) => ({ type: 'text', text }) as Extract<NewBlock, { type: 'text' }>;

/** The block that texts go to now. */
interface OpenText {
  kind: 'text' | 'thinking';
  index: number;
  /** As JSON. */
  pieces: string[];
  /** What each delta's JSON is up to its text. */
  written: string;
}

export interface ChatOutputOptions {
  log: MessageLog;
  /** All blocks of the message, in order; those of this round are added. */
  content: Fields[];
  /** The function that stands for web search. */
  search: string | null;
  /** What the turn carries for its maker so far; null where it carries nothing. */
  carried(): Carried | null;
  seal(carried: Carried): string;
}

/** Writes a chat's deltas as the blocks of a message, each with its events in the convention's order. */
export class ChatOutput {
  private open: OpenText | null = null;
  private readonly calls: BlockCalls;
  /** What a block of this round carries already, as JSON. */
  private sealed = '';
  /** The model refused to answer. */
  hasRefused = false;

  constructor(private readonly options: ChatOutputOptions) {
    this.calls = new BlockCalls(options);
  }

  /** Searches that the model asked for in this round. */
  get searches(): readonly AskedCall[] {
    return this.calls.searches;
  }

  /** Calls that the caller is to run. */
  get hasCalls(): boolean {
    return this.calls.hasOthers;
  }

  delta(delta: Fields): void {
    const thought = delta['reasoning_content'] ?? delta['reasoning'];
    if (typeof thought === 'string' && thought !== '') this.text('thinking', thought);
    if (typeof delta['content'] === 'string' && delta['content'] !== '') this.text('text', delta['content']);
    if (typeof delta['refusal'] === 'string' && delta['refusal'] !== '') {
      this.hasRefused = true;
      this.text('text', delta['refusal']);
    }
    const { tool_calls: calls } = delta;
    if (!Array.isArray(calls)) return;
    for (const call of calls as unknown[]) if (isFields(call)) this.call(call);
  }

  /** A delta of nothing but text, while a text is open; false where none is. @param literal as JSON */
  plain(literal: string): boolean {
    const { open } = this;
    if (open?.kind !== 'text') return false;
    open.pieces.push(literal);
    this.options.log.pushWritten(`${open.written}${literal}}}`);
    return true;
  }

  /** The round's upstream has ended. */
  end(): void {
    this.closeText();
    this.calls.end('completed');
    const data = this.newSeal();
    if (data === null) return;
    const block = { type: 'redacted_thinking' as const, data };
    const index = this.add(block);
    this.options.log.push({ type: 'content_block_stop', index });
  }

  private call(call: Fields): void {
    this.closeText();
    this.calls.take(call);
  }

  /** What the turn carries, unless a block says just that already. */
  private newSeal(): string | null {
    const carried = this.options.carried();
    const said = carried === null ? '' : JSON.stringify(carried);
    if (carried === null || said === this.sealed) return null;
    this.sealed = said;
    return this.options.seal(carried);
  }

  private text(kind: OpenText['kind'], text: string): void {
    if (this.open?.kind !== kind) {
      this.closeText();
      this.calls.closeWhole();
      this.open = this.begin(kind);
    }
    const { index, pieces } = this.open as OpenText;
    pieces.push(JSON.stringify(text));
    const delta: RawContentBlockDelta =
      kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
    this.options.log.push({ type: 'content_block_delta', index, delta });
  }

  private begin(kind: OpenText['kind']): OpenText {
    const index = this.add(
      kind === 'text' ? textBlock('') : { type: 'thinking', thinking: '', signature: '' },
    );
    const written = `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":`;
    return { kind, index, pieces: [], written };
  }

  private add(block: NewBlock): number {
    const { content, log } = this.options;
    const index = content.push({ ...block }) - 1;
    log.push({ type: 'content_block_start', index, content_block: block });
    return index;
  }

  private closeText(): void {
    const { open } = this;
    this.open = null;
    if (open === null) return;
    const { log, content } = this.options;
    const { index, kind } = open;
    const said = (JSON.parse(`[${open.pieces.join()}]`) as string[]).join('');
    if (kind === 'text') content[index] = { ...textBlock(said) };
    else {
      const signature = this.newSeal() ?? '';
      content[index] = { type: 'thinking', thinking: said, signature };
      log.push({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } });
    }
    log.push({ type: 'content_block_stop', index });
  }
}
