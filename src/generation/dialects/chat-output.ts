import { isFields } from '../../providers/index.js';
import type { Carried } from '../carried-seal.js';
import type { AskedCall, EndStatus, OpenCalls } from './calls.js';
import type { Fields } from './checks.js';

/** What a model says: thoughts, its answer, or that it refuses one. */
export type SaidKind = 'thought' | 'text' | 'refusal';

/** What a round's provider metadata is sealed with. */
export interface Sealing {
  /** What the turn carries for its maker so far; null where it carries nothing. */
  carried(): Carried | null;
  seal(carried: Carried): string;
}

/** Writes a chat's deltas in the words of a dialect, each with its events in the convention's order. */
export abstract class ChatOutput {
  /** What this round says already that it carries, as JSON. */
  private sealed = '';

  constructor(
    private readonly sealing: Sealing,
    protected readonly calls: Pick<OpenCalls, 'searches' | 'hasOthers' | 'take' | 'closeWhole' | 'end'>,
  ) {}

  /** A delta of nothing but text, while a text is open; false where none is. @param literal as JSON */
  abstract plain(literal: string): boolean;

  /** A text, never an empty one. @param logprobs as they came */
  protected abstract text(kind: SaidKind, text: string, logprobs: unknown): void;

  protected abstract closeText(status: EndStatus): void;

  /** Writes what the turn carries where nothing of the round's says it. */
  protected abstract writeSeal(seal: string): void;

  /** Searches that the model asked for in this round. */
  get searches(): readonly AskedCall[] {
    return this.calls.searches;
  }

  /** Whether the caller is to run something. */
  get hasCalls(): boolean {
    return this.calls.hasOthers;
  }

  /** @param logprobs of its text, as they came */
  delta(delta: Fields, logprobs: unknown): void {
    const thought = delta['reasoning_content'] ?? delta['reasoning'];
    if (isText(thought)) this.text('thought', thought, null);
    if (isText(delta['content'])) this.text('text', delta['content'], logprobs);
    if (isText(delta['refusal'])) this.text('refusal', delta['refusal'], null);
    const { tool_calls: calls } = delta;
    if (!Array.isArray(calls)) return;
    for (const call of calls as unknown[]) if (isFields(call)) this.call(call);
  }

  /** The round's upstream has ended. @param status of what was open still */
  end(status: EndStatus): void {
    this.closeText(status);
    this.calls.end(status);
    const seal = this.newSeal();
    if (seal !== null) this.writeSeal(seal);
  }

  /** What the turn carries, unless something of the round says just that already. */
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
