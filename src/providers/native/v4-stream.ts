import { randomUUID } from 'node:crypto';
import { TypeValidationError } from '@ai-sdk/provider';
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ChatCall, ChatChunks } from '../providers.types.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { refuseDropped } from './dropped-settings.js';
import { AnswerMetadata } from './provider-metadata.js';
import { upstreamErrorOf } from './sdk-errors.js';
import { KNOWN_EVENT } from './empty-events.js';
import { finishReasonOf, isFailed, usageOf } from './v4-finish-and-usage.js';

type Delta = Record<string, unknown>;

interface StreamOptions {
  kind: string;
  call: ChatCall;
  secrets: readonly string[];
  abort(): void;
}

/** Whether the error is an event of an unknown type: providers add types and ask clients to ignore them. */
function isNewEvent(error: unknown): boolean {
  if (!TypeValidationError.isInstance(error)) return false;
  const { value } = error as { value: unknown };
  if (typeof value !== 'object' || value === null || 'error' in value || !('type' in value)) return false;
  return typeof value.type === 'string' && !KNOWN_EVENT.test(value.type);
}

/** Whether the provider sent no finish reason: packages then use one of these values, without a raw reason. */
function isCutOff(reason: LanguageModelV4FinishReason): boolean {
  const { unified, raw } = reason;
  return isFailed(reason) || unified === 'interrupted' || (unified === 'other' && raw === undefined);
}

/** Converts a stream of the AI SDK's parts to chat-completion chunks, read on demand only. */
export class V4Chunks implements ChatChunks {
  private readonly reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>;
  /** The upstream's id, once it is known. */
  private id = `chatcmpl-${randomUUID()}`;
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly waiting: string[] = [];
  /** Position of each tool call in the answer, and whether its arguments came in pieces. */
  private readonly tools = new Map<string, { index: number; streamed: boolean }>();
  private readonly carried: AnswerMetadata;
  private opened = false;
  private finished = false;

  constructor(
    stream: ReadableStream<LanguageModelV4StreamPart>,
    private readonly options: StreamOptions,
  ) {
    this.reader = stream.getReader();
    this.carried = new AnswerMetadata(options.kind);
  }

  /** Waits for the first chunk. @throws UpstreamError */
  async open(): Promise<ChatChunks> {
    try {
      const first = await this.next();
      if (first === null) throw brokenAnswer('no chunk');
      this.waiting.unshift(first);
      return this;
    } catch (error) {
      this.cancel();
      throw error;
    }
  }

  async next(): Promise<string | null> {
    for (;;) {
      const ready = this.waiting.shift();
      if (ready !== undefined) return ready;
      if (this.finished) return null;
      const { done, value } = await this.read();
      if (done) {
        // Without the final part it is unknown whether the answer is complete.
        throw brokenAnswer('a stream that broke off');
      }
      this.take(value);
    }
  }

  cancel(): void {
    this.finished = true;
    this.options.abort();
    // An error of the reader after the cancellation is irrelevant.
    this.reader.cancel().catch(() => undefined);
  }

  private async read() {
    try {
      return await this.reader.read();
    } catch (error) {
      throw this.faultOf(error);
    }
  }

  private faultOf(error: unknown): Error {
    return upstreamErrorOf(error, { secrets: this.options.secrets, signal: this.options.call.signal });
  }

  private take(part: LanguageModelV4StreamPart): void {
    this.carried.stream(part);
    switch (part.type) {
      case 'stream-start': {
        const { modelId, body } = this.options.call;
        return refuseDropped(part.warnings, { modelId, requested: body });
      }
      case 'response-metadata':
        if (part.id !== undefined && !this.opened) this.id = part.id;
        return;
      case 'text-delta':
        return this.push({ content: part.delta });
      case 'reasoning-delta':
        return this.push({ reasoning_content: part.delta });
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.startTool(part.id, part.toolName);
        return;
      case 'tool-input-delta':
        return this.toolDelta(part.id, part.delta);
      case 'tool-call':
        if (part.providerExecuted !== true) this.wholeTool(part);
        return;
      case 'error':
        if (isNewEvent(part.error)) return;
        throw this.faultOf(part.error);
      case 'finish':
        return this.finish(part);
      default:
    }
  }

  private startTool(id: string, name: string): void {
    const index = this.tools.size;
    this.tools.set(id, { index, streamed: false });
    this.push({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  }

  private toolDelta(id: string, delta: string): void {
    const tool = this.tools.get(id);
    if (tool === undefined || delta === '') return;
    tool.streamed = true;
    this.push({ tool_calls: [{ index: tool.index, function: { arguments: delta } }] });
  }

  /** Some providers send a call only when it is complete. */
  private wholeTool({
    toolCallId,
    toolName,
    input,
  }: {
    toolCallId: string;
    toolName: string;
    input: string;
  }): void {
    if (!this.tools.has(toolCallId)) this.startTool(toolCallId, toolName);
    if (this.tools.get(toolCallId)?.streamed === false) this.toolDelta(toolCallId, input);
  }

  private finish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): void {
    if (isCutOff(part.finishReason)) throw brokenAnswer('a stream that broke off');
    this.finished = true;
    this.waiting.push(
      this.chunk([
        { index: 0, delta: this.carried.field(), finish_reason: finishReasonOf(part.finishReason) },
      ]),
    );
    const usage = usageOf(part.usage);
    if (usage !== null) this.waiting.push(this.chunk([], { usage }));
  }

  private push(delta: Delta): void {
    const first = this.opened ? {} : { role: 'assistant' };
    this.opened = true;
    this.waiting.push(this.chunk([{ index: 0, delta: { ...first, ...delta }, finish_reason: null }]));
  }

  private chunk(choices: unknown[], more: object = {}): string {
    return JSON.stringify({
      id: this.id,
      object: 'chat.completion.chunk',
      created: this.created,
      model: this.options.call.modelId,
      choices,
      ...more,
    });
  }
}
