import type {
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { isFields } from '../convention/answer-text.js';

type Fields = Record<string, unknown>;
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];
type AssistantPart = AssistantContent[number];
type Metadata = Record<string, Record<string, string>>;

/** The metadata of one part of an answer, in order. The part's text is in the message. */
interface PartMetadata {
  type: 'reasoning' | 'text' | 'tool-call';
  /** The id of a tool call. */
  id?: string;
  /** The length of a text, in characters. */
  length?: number;
  /** Data that the provider needs back with the part: signatures, encrypted reasoning. */
  metadata?: Metadata;
}

/** Keeps strings only, since signatures are strings. Other values could be settings, which a caller must not set. */
function stringsOf(given: unknown): Metadata | undefined {
  if (!isFields(given)) return undefined;
  const makers = Object.entries(given).flatMap(([maker, values]) => {
    const strings = Object.entries(isFields(values) ? values : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return strings.length === 0 ? [] : [[maker, Object.fromEntries(strings)] as const];
  });
  return makers.length === 0 ? undefined : Object.fromEntries(makers);
}

/** Collects the metadata of an answer's parts as they arrive. */
export class AnswerMetadata {
  private readonly parts: PartMetadata[] = [];
  private readonly open = new Map<string, PartMetadata>();

  constructor(private readonly kind: string) {}

  stream(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'reasoning-start':
      case 'text-start':
        return this.start(part.type === 'text-start' ? 'text' : 'reasoning', part);
      case 'reasoning-delta':
      case 'text-delta':
        return this.appendDelta(part.type === 'text-delta' ? 'text' : 'reasoning', part);
      case 'reasoning-end':
      case 'text-end':
        return this.appendDelta(part.type === 'text-end' ? 'text' : 'reasoning', { ...part, delta: '' });
      case 'tool-call':
        if (part.providerExecuted !== true)
          this.add('tool-call', part.providerMetadata, { id: part.toolCallId });
        return;
      default:
    }
  }

  content(parts: readonly LanguageModelV4Content[]): this {
    for (const part of parts) {
      if (part.type === 'text' || part.type === 'reasoning')
        this.add(part.type, part.providerMetadata, { length: part.text.length });
      else if (part.type === 'tool-call') this.stream(part);
    }
    return this;
  }

  /** The metadata as a field of the message; empty if no part has metadata. */
  field(): { extra_content?: { penstock: { kind: string; parts: PartMetadata[] } } } {
    if (this.parts.every(({ metadata }) => metadata === undefined)) return {};
    return { extra_content: { penstock: { kind: this.kind, parts: this.parts } } };
  }

  private add(type: PartMetadata['type'], given: unknown, more: Partial<PartMetadata>): PartMetadata {
    const metadata = stringsOf(given);
    const part = { type, ...more, ...(metadata === undefined ? {} : { metadata }) };
    this.parts.push(part);
    return part;
  }

  private start(
    type: 'reasoning' | 'text',
    { id, providerMetadata }: { id: string; providerMetadata?: unknown },
  ) {
    this.open.set(type + id, this.add(type, providerMetadata, { length: 0 }));
  }

  private appendDelta(
    type: 'reasoning' | 'text',
    { id, delta, providerMetadata }: { id: string; delta: string; providerMetadata?: unknown },
  ): void {
    if (!this.open.has(type + id)) this.start(type, { id });
    const part = this.open.get(type + id) as PartMetadata;
    part.length = (part.length ?? 0) + delta.length;
    const metadata = stringsOf(providerMetadata);
    if (metadata !== undefined) part.metadata = { ...part.metadata, ...metadata };
  }
}

function partsIn({ extra_content: extra }: Fields, kind: string): Fields[] {
  const carried = isFields(extra) && isFields(extra['penstock']) ? extra['penstock'] : {};
  return carried['kind'] === kind && Array.isArray(carried['parts']) ? carried['parts'].filter(isFields) : [];
}

const lengthOf = ({ length }: Fields): number => (Number.isSafeInteger(length) ? (length as number) : 0);

/** Splits a text into the parts that it came in; null if the text has changed. */
function piecesOf(text: string, parts: readonly Fields[]): Map<Fields, string> | null {
  if (parts.reduce((sum, part) => sum + lengthOf(part), 0) !== text.length) return null;
  let from = 0;
  return new Map(parts.map((part) => [part, text.slice(from, (from += lengthOf(part)))]));
}

/**
 * Restores an assistant's message to the provider's own parts and order, each with its metadata. Parts that a client has removed stay removed:
 * reasoning without its text would not match its signature.
 */
export function withProviderMetadata(
  content: AssistantContent,
  message: Fields,
  kind: string,
): AssistantContent {
  const parts = partsIn(message, kind);
  if (parts.length === 0) return content;
  const thought = typeof message['reasoning_content'] === 'string' ? message['reasoning_content'] : '';
  const texts = content.filter((part) => part.type === 'text');
  const said = texts.map(({ text }) => text).join('');
  const thoughts = piecesOf(
    thought,
    parts.filter(({ type }) => type === 'reasoning'),
  );
  const pieces = piecesOf(
    said,
    parts.filter(({ type }) => type === 'text'),
  );
  const restored = parts.flatMap((part): AssistantPart[] => {
    const metadata = stringsOf(part['metadata']);
    const own = metadata === undefined ? {} : { providerOptions: metadata };
    if (part['type'] === 'reasoning') {
      const text = thoughts?.get(part) ?? (lengthOf(part) === 0 ? '' : null);
      return text === null || metadata === undefined ? [] : [{ type: 'reasoning', text, ...own }];
    }
    if (part['type'] === 'text') {
      const text = pieces?.get(part) ?? '';
      return text === '' && metadata === undefined
        ? []
        : pieces === null
          ? []
          : [{ type: 'text', text, ...own }];
    }
    const call = content.find((one) => one.type === 'tool-call' && one.toolCallId === part['id']);
    return call === undefined ? [] : [{ ...call, ...own }];
  });
  const known = new Set(restored.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])));
  const rest = content.filter((part) =>
    part.type === 'tool-call' ? !known.has(part.toolCallId) : part.type === 'text' && pieces === null,
  );
  // A changed text is placed after the reasoning and before the calls.
  const at = restored.findIndex(({ type }) => type === 'tool-call');
  const [before, after] = at === -1 ? [restored, []] : [restored.slice(0, at), restored.slice(at)];
  return [
    ...before,
    ...rest.filter(({ type }) => type === 'text'),
    ...after,
    ...rest.filter(({ type }) => type !== 'text'),
  ];
}
