import type { Fields } from '../dialects/checks.js';
import { inputOf } from './calls.js';

/** Of each kind of block that comes in pieces: the type of its deltas, and the field that holds their text. */
const PIECES: Readonly<Record<string, { delta: string; piece: string; field: string }>> = {
  text: { delta: 'text_delta', piece: 'text', field: 'text' },
  thinking: { delta: 'thinking_delta', piece: 'thinking', field: 'thinking' },
  tool_use: { delta: 'input_json_delta', piece: 'partial_json', field: 'input' },
  server_tool_use: { delta: 'input_json_delta', piece: 'partial_json', field: 'input' },
  mcp_tool_use: { delta: 'input_json_delta', piece: 'partial_json', field: 'input' },
};

const KINDS_OF_DELTAS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  citations_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
};

/** The block that a delta belongs to which no block was announced for; null: it tells too little. */
export function blockFor({ type }: Fields): Fields | null {
  const kind = KINDS_OF_DELTAS[String(type)];
  if (kind === undefined) return null;
  return kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' };
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** One block of an upstream's answer, as it grows. */
export class NativeBlock {
  /** In the message that goes out; null: it is not shown. */
  index: number | null = null;
  isOpen = true;
  /** Texts of its deltas, as JSON. */
  readonly pieces: string[] = [];
  private readonly citations: unknown[] = [];
  private signature = '';

  constructor(readonly given: Fields) {}

  /** A block that came whole, as it would have begun, and what would have followed. */
  static split(whole: Fields): { begun: Fields; deltas: Fields[] } {
    const kind = PIECES[String(whole['type'])];
    const value = kind === undefined ? null : whole[kind.field];
    if (kind === undefined || isEmpty(value)) return { begun: whole, deltas: [] };
    const isInput = kind.field === 'input';
    const { signature } = whole;
    const isSigned = whole['type'] === 'thinking' && typeof signature === 'string' && signature !== '';
    return {
      begun: { ...whole, [kind.field]: isInput ? {} : '', ...(isSigned ? { signature: '' } : {}) },
      deltas: [
        { type: kind.delta, [kind.piece]: isInput ? JSON.stringify(value) : value },
        ...(isSigned ? [{ type: 'signature_delta', signature }] : []),
      ],
    };
  }

  get deltaType(): string | undefined {
    return PIECES[String(this.given['type'])]?.delta;
  }

  /** A delta of text as its maker writes it, up to the text. */
  get deltaBegins(): string {
    const { delta, piece } = PIECES[String(this.given['type'])] ?? { delta: '', piece: '' };
    return `{"type":"${delta}","${piece}":`;
  }

  /** Whether it is the block that is announced once more. */
  isLike({ type, id }: Fields): boolean {
    return type === this.given['type'] && id === this.given['id'];
  }

  takes({ type }: Fields): boolean {
    if (!this.isOpen) return false;
    const own = this.given['type'];
    const kind = KINDS_OF_DELTAS[String(type)];
    if (kind !== undefined) return kind === own;
    return type !== 'input_json_delta' || this.deltaType === type;
  }

  /** @returns the text that it brings, as JSON; null where it brings none */
  take(delta: Fields): string | null {
    const kind = PIECES[String(this.given['type'])];
    if (delta['type'] === 'signature_delta' && typeof delta['signature'] === 'string')
      this.signature += delta['signature'];
    if (delta['type'] === 'citations_delta') this.citations.push(delta['citation']);
    const text = kind !== undefined && delta['type'] === kind.delta ? delta[kind.piece] : null;
    if (typeof text !== 'string') return null;
    const literal = JSON.stringify(text);
    this.pieces.push(literal);
    return literal;
  }

  /** Texts that it was announced with, as JSON. */
  begunTexts(): string[] {
    const { text, thinking, name, input } = this.given;
    return [text, thinking, name, isEmpty(input) ? '' : JSON.stringify(input)]
      .filter((said): said is string => typeof said === 'string' && said !== '')
      .map((said) => JSON.stringify(said));
  }

  /** What a tool is called with. */
  input(): Fields {
    const said = this.text();
    return said === '' ? ((this.given['input'] ?? {}) as Fields) : inputOf(said);
  }

  /** As it stands at its end. */
  whole(): Fields {
    const kind = PIECES[String(this.given['type'])];
    if (kind === undefined) return this.given;
    if (kind.field === 'input') return { ...this.given, input: this.input() };
    const begun = this.given[kind.field];
    const { signature } = this.given;
    const known = Array.isArray(this.given['citations']) ? (this.given['citations'] as unknown[]) : [];
    return {
      ...this.given,
      [kind.field]: (typeof begun === 'string' ? begun : '') + this.text(),
      ...(this.given['type'] === 'thinking'
        ? { signature: (typeof signature === 'string' ? signature : '') + this.signature }
        : {}),
      ...(this.citations.length === 0 ? {} : { citations: [...known, ...this.citations] }),
    };
  }

  private text(): string {
    return (JSON.parse(`[${this.pieces.join()}]`) as string[]).join('');
  }
}
