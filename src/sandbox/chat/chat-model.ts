import { nextSlice } from '../../collections/time-slicer.js';
import { ApiError } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { UpstreamError } from '../../providers/providers.types.js';
import type {
  ChatAnswer,
  ChatCall,
  ChatChunks,
  ChatObject,
  ChatProvider,
} from '../../providers/providers.types.js';
import { abortedError } from '../../providers/index.js';
import type { RulesOfTools } from '../../providers/tool-rules.types.js';
import { pause } from '../directive/pause.js';
import { answerTo } from './answer.js';
import type { SandboxAnswer } from './answer.js';
import type { Piece } from './prose.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { SandboxEyes } from './vision.js';

/** Pieces that are emitted before the event loop runs again. */
const BURST = 64;

function failure(answer: SandboxAnswer): UpstreamError {
  return new UpstreamError(`Sandbox directive: ${answer.prompt.directive.fail ?? 'fail_after_tokens'}`, {
    status: null,
    retryable: false,
  });
}

/** The number of pieces after which the directive makes the call fail; Infinity if it does not. */
function failsAfter(answer: SandboxAnswer): number {
  const { fail, failAfterTokens } = answer.prompt.directive;
  if (failAfterTokens !== undefined) return failAfterTokens;
  return fail === undefined ? Number.POSITIVE_INFINITY : 0;
}

/** The maximum of entries in a whole answer: a hundred thousand tokens with twenty alternatives each would take 200 MB. */
const MAX_LOGPROBS = 10_000;

/** @throws ApiError invalid_request if there would be too many; a stream computes them one token at a time */
function boundLogprobs({ pieces }: SandboxAnswer, { body }: ChatCall): void {
  const each = 1 + (typeof body['top_logprobs'] === 'number' ? body['top_logprobs'] : 0);
  if (body['logprobs'] !== true || pieces.length * each <= MAX_LOGPROBS) return;
  const message = `The sandbox gives at most ${MAX_LOGPROBS} log probabilities in one answer: lower max_tokens or top_logprobs, or stream`;
  throw new ApiError('invalid_request', message, { param: 'logprobs' });
}

/** An invented but repeatable probability for each token, in the convention's format. */
function logprobsOf(pieces: readonly Piece[], body: ChatCall['body']): unknown {
  if (body['logprobs'] !== true) return null;
  const wanted = typeof body['top_logprobs'] === 'number' ? body['top_logprobs'] : 0;
  const entry = (token: string, rank: number) => ({
    token,
    logprob: -0.01 * (1 + (token.length % 7)) - rank,
    bytes: [...Buffer.from(token)],
  });
  const content = pieces.map(({ text }) => ({
    ...entry(text, 0),
    top_logprobs: Array.from({ length: wanted }, (_, rank) =>
      entry(rank === 0 ? text : `${text}~${rank}`, rank),
    ),
  }));
  return { content, refusal: null };
}

function usageOf(call: ChatCall, answer: SandboxAnswer): Record<string, number> {
  return {
    prompt_tokens: call.promptTokens,
    completion_tokens: answer.completionTokens,
    total_tokens: call.promptTokens + answer.completionTokens,
  };
}

function messageOf(answer: SandboxAnswer): Record<string, unknown> {
  const text = answer.pieces.map((piece) => piece.text).join('');
  if (!answer.tool) return { role: 'assistant', content: text, refusal: null };
  const { id, name, thought } = answer.tool;
  return {
    role: 'assistant',
    content: null,
    ...(thought === '' ? {} : { reasoning_content: thought }),
    tool_calls: [{ id, type: 'function', function: { name, arguments: text } }],
  };
}

function head(call: ChatCall, object: string): Record<string, unknown> {
  return {
    id: newId('chatcmpl').replace('_', '-'),
    object,
    created: Math.floor(Date.now() / 1000),
    model: call.modelId,
    system_fingerprint: 'fp_sandbox',
  };
}

/** Streams an answer piece by piece, at the pace and to the end that the directive asks for. */
class SandboxChunks implements ChatChunks {
  private readonly head: Record<string, unknown>;
  private readonly failsAfter: number;
  private readonly abort = new AbortController();
  private at = -1;

  constructor(
    private readonly call: ChatCall,
    private readonly answer: SandboxAnswer,
  ) {
    this.head = head(call, 'chat.completion.chunk');
    this.failsAfter = failsAfter(answer);
  }

  async next(): Promise<string | null> {
    if (this.call.signal.aborted || this.abort.signal.aborted) throw abortedError();
    const { pieces } = this.answer;
    const at = this.at++;
    if (at === -1) return this.first();
    if (at >= this.failsAfter) throw failure(this.answer);
    if (at < pieces.length) return this.piece(at);
    if (at === pieces.length) return this.chunk({}, { finish: this.answer.finish });
    if (at === pieces.length + 1)
      return JSON.stringify({ ...this.head, choices: [], usage: usageOf(this.call, this.answer) });
    return null;
  }

  cancel(): void {
    this.abort.abort();
  }

  private first(): string {
    if (!this.answer.tool) return this.chunk({ role: 'assistant', content: '' }, {});
    const { id, name, thought } = this.answer.tool;
    const reasoning = thought === '' ? {} : { reasoning_content: thought };
    const tool = { index: 0, id, type: 'function', function: { name, arguments: '' } };
    return this.chunk({ role: 'assistant', content: null, ...reasoning, tool_calls: [tool] }, {});
  }

  private async piece(at: number): Promise<string> {
    const ms = this.answer.prompt.directive.chunkMs ?? 0;
    if (ms > 0) await this.wait(ms);
    else if (at % BURST === BURST - 1) await nextSlice();
    const piece = this.answer.pieces[at] as Piece;
    if (this.answer.tool)
      return this.chunk({ tool_calls: [{ index: 0, function: { arguments: piece.text } }] }, {});
    return this.chunk({ content: piece.text }, { pieces: [piece] });
  }

  /** Sleeps until the time is over, the caller disconnects or the stream is cancelled. */
  private async wait(ms: number): Promise<void> {
    const stop = (): void => this.abort.abort();
    this.call.signal.addEventListener('abort', stop);
    try {
      await pause(ms, this.abort.signal);
    } finally {
      this.call.signal.removeEventListener('abort', stop);
    }
  }

  private chunk(delta: Record<string, unknown>, extra: { finish?: string; pieces?: Piece[] }): string {
    const logprobs = extra.pieces ? logprobsOf(extra.pieces, this.call.body) : null;
    const choice = { index: 0, delta, logprobs, finish_reason: extra.finish ?? null };
    return JSON.stringify({ ...this.head, choices: [choice] });
  }
}

export interface ChatModelOptions {
  tokenizer: Tokenizer;
  eyes: SandboxEyes;
  /** How it uses an agent's tools. */
  rules: RulesOfTools;
}

/** Chat without a network or a model: deterministic answers that say that the sandbox wrote them. */
export function createSandboxChat({ tokenizer, eyes, rules }: ChatModelOptions): ChatProvider {
  const start = async (call: ChatCall): Promise<SandboxAnswer> => {
    if (!tokenizer.loaded) await tokenizer.load();
    const answer = await answerTo(call, { tokenizer, rules, seen: await eyes.describe(call) });
    await pause(answer.delayMs, call.signal);
    return answer;
  };
  return {
    async complete(call: ChatCall): Promise<ChatAnswer> {
      const answer = await start(call);
      if (failsAfter(answer) <= answer.completionTokens) throw failure(answer);
      if (!answer.tool) boundLogprobs(answer, call);
      const choice = {
        index: 0,
        message: messageOf(answer),
        logprobs: answer.tool ? null : logprobsOf(answer.pieces, call.body),
        finish_reason: answer.finish,
      };
      const parsed: ChatObject = {
        ...head(call, 'chat.completion'),
        choices: [choice],
        usage: usageOf(call, answer),
      };
      return { text: JSON.stringify(parsed), parsed };
    },
    async stream(call: ChatCall): Promise<ChatChunks> {
      const answer = await start(call);
      if (failsAfter(answer) === 0) throw failure(answer);
      return new SandboxChunks(call, answer);
    },
  };
}
