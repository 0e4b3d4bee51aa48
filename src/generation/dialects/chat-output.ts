import { isFields } from '../../providers/index.js';
import type { CarriedMetadata } from '../metadata-seal.js';
import type { RequestedToolCall, EndStatus, OpenCalls } from './calls.js';
import type { Fields } from './checks.js';

/** The kinds of a model's text: reasoning, answer, refusal. */
export type TextKind = 'thought' | 'text' | 'refusal';

/** Data to seal a round's provider metadata. */
export interface Sealing {
  /** The turn's sealed provider metadata so far; null if there is none. */
  carried(): CarriedMetadata | null;
  seal(carried: CarriedMetadata): string;
}

/** Writes a chat's deltas in a dialect, each with its events in the convention's order. */
export abstract class ChatOutput {
  /** The metadata that this round has already written, as JSON. */
  private sealed = '';

  constructor(
    private readonly sealing: Sealing,
    protected readonly calls: Pick<OpenCalls, 'searches' | 'hasOthers' | 'take' | 'closeWhole' | 'end'>,
  ) {}

  /** Writes a delta that contains only text; returns false if no text is open. @param literal as JSON */
  abstract plain(literal: string): boolean;

  /** Writes a text that is not empty. @param logprobs unchanged from the upstream */
  protected abstract text(kind: TextKind, text: string, logprobs: unknown): void;

  protected abstract closeText(status: EndStatus): void;

  /** Writes the turn's metadata in a part of its own if no other part of the round has it. */
  protected abstract writeSeal(seal: string): void;

  /** Searches that the model asked for in this round. */
  get searches(): readonly RequestedToolCall[] {
    return this.calls.searches;
  }

  /** Whether the caller must run a tool. */
  get hasCalls(): boolean {
    return this.calls.hasOthers;
  }

  /** @param logprobs of its text, unchanged from the upstream */
  delta(delta: Fields, logprobs: unknown): void {
    const thought = delta['reasoning_content'] ?? delta['reasoning'];
    if (isText(thought)) this.text('thought', thought, null);
    if (isText(delta['content'])) this.text('text', delta['content'], logprobs);
    if (isText(delta['refusal'])) this.text('refusal', delta['refusal'], null);
    const { tool_calls: calls } = delta;
    if (!Array.isArray(calls)) return;
    for (const call of calls as unknown[]) if (isFields(call)) this.call(call);
  }

  /** Call it when the round's upstream has ended. @param status of the parts that are still open */
  end(status: EndStatus): void {
    this.closeText(status);
    this.calls.end(status);
    const seal = this.newSeal();
    if (seal !== null) this.writeSeal(seal);
  }

  /** The turn's metadata, unless the round has already written it. */
  protected newSeal(): string | null {
    const carried = this.sealing.carried();
    const said = carried === null ? '' : JSON.stringify(carried);
    if (carried === null || said === this.sealed) return null;
    this.sealed = said;
    return this.sealing.seal(carried);
  }

  private call(call: Fields): void {
    this.closeText('completed');
    this.calls.take(call);
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
