import type { RawContentBlockDelta, RawContentBlockStartEvent } from '@anthropic-ai/sdk/resources/messages';
import { ChatOutput } from '../dialects/chat-output.js';
import type { TextKind, Sealing } from '../dialects/chat-output.js';
import type { Fields } from '../dialects/checks.js';
import { BlockCalls } from './calls.js';
import type { MessageLog } from './events.js';

type NewBlock = RawContentBlockStartEvent['content_block'];

/** A text without citations has no `citations` field, because clients fail on null, although the maker's types allow it. */
const textBlock = (text: string) => ({ type: 'text', text }) as Extract<NewBlock, { type: 'text' }>;

/** The block that currently gets texts. */
interface OpenText {
  kind: 'text' | 'thinking';
  index: number;
  /** Texts as JSON. */
  pieces: string[];
  /** The JSON of each delta before its text. */
  written: string;
}

export interface BlockOutputOptions extends Sealing {
  log: MessageLog;
  /** All blocks of the message, in order; blocks of this round are added. */
  content: Fields[];
  /** The function that replaces web search. */
  search: string | null;
  /** The open text if an upstream of the dialect began it. */
  begun?: BegunText | null | undefined;
}

/** A block of text that has not ended. */
export interface BegunText {
  index: number;
  text: string;
}

/** Writes a chat's deltas as the blocks of a message. */
export class BlockOutput extends ChatOutput {
  private open: OpenText | null = null;
  /** The model refused to answer. */
  hasRefused = false;

  constructor(private readonly options: BlockOutputOptions) {
    super(options, new BlockCalls(options));
    const { begun } = options;
    if (begun != null) this.open = openText(begun.index, [JSON.stringify(begun.text)]);
  }

  plain(literal: string): boolean {
    const { open } = this;
    if (open?.kind !== 'text') return false;
    open.pieces.push(literal);
    this.options.log.pushWritten(`${open.written}${literal}}}`);
    return true;
  }

  protected writeSeal(data: string): void {
    const index = this.add({ type: 'redacted_thinking', data });
    this.options.log.push({ type: 'content_block_stop', index });
  }

  protected text(said: TextKind, text: string): void {
    if (said === 'refusal') this.hasRefused = true;
    const kind = said === 'thought' ? 'thinking' : 'text';
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
    return { ...openText(index), kind };
  }

  private add(block: NewBlock): number {
    const { content, log } = this.options;
    const index = content.push({ ...block }) - 1;
    log.push({ type: 'content_block_start', index, content_block: block });
    return index;
  }

  protected closeText(): void {
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

/** @param pieces as JSON */
function openText(index: number, pieces: string[] = []): OpenText {
  const written = `{"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":`;
  return { kind: 'text', index, pieces, written };
}
