import { isFields } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import { inputOf } from './calls.js';

/** For each kind of block with deltas: the type of its deltas, and the field with their text. */
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

/** Creates the block of a delta that has no announced block; null if the delta does not identify it. */
export function blockFor({ type }: Fields): Fields | null {
  const kind = KINDS_OF_DELTAS[String(type)];
  if (kind === undefined) return null;
  return kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' };
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** One block of an upstream's answer, as it grows. */
export class NativeBlock {
  /** Its index in the message for the caller; null if it is not shown. */
  index: number | null = null;
  isOpen = true;
  /** Texts of its deltas, as JSON. */
  readonly pieces: string[] = [];
  private readonly citations: unknown[] = [];
  private signature = '';

  constructor(readonly given: Fields) {}

  /** Splits a whole block into its start and the deltas that a stream would have. */
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

  /** The JSON of a text delta before the text, as its maker writes it. */
  get deltaBegins(): string {
    const { delta, piece } = PIECES[String(this.given['type'])] ?? { delta: '', piece: '' };
    return `{"type":"${delta}","${piece}":`;
  }

  /** Whether an announced block is this block, announced again. */
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

  /** @returns its text as JSON; null if it has none */
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

  /** Texts of its announcement, as JSON. */
  begunTexts(): string[] {
    const { text, thinking, name, input } = this.given;
    return [text, thinking, name, isEmpty(input) ? '' : JSON.stringify(input)]
      .filter((said): said is string => typeof said === 'string' && said !== '')
      .map((said) => JSON.stringify(said));
  }

  /** The arguments of a tool call. */
  input(): Fields {
    const said = this.text();
    const { input } = this.given;
    if (said !== '') return inputOf(said);
    return isFields(input) ? input : {};
  }

  /** The complete block. */
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
