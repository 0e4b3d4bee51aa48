import type { CallContext } from '../../../metering/call-context.js';
import { isFields, MergedMessage } from '../../../providers/index.js';
import { openStream, resumeStream } from '../../chat/chat.js';
import type { ChatEngine } from '../../chat/engine.js';
import { tokenRate } from '../../chat/usage.js';
import type { Tokens } from '../../chat/usage.js';
import type { HeldChat } from '../../chat/admission.js';
import type { Fields } from '../../dialects/checks.js';
import { itemId } from '../request.js';
import type { Replayed } from './replay.js';
import { withoutSettlement } from './without-settlement.js';

/** The tokens that a chat is charged for at its end. */
export interface ChatCharge {
  tokens: Tokens;
  /** The id of the model that answered. */
  model: string;
}

/** The streamed answer of a chat that was admitted before. */
export interface ChatAnswering {
  chunks: AsyncIterable<string>;
  /** Null until only the last chunks are left. */
  charge(): ChatCharge | null;
  leave(): void;
}

/** Skips the first chunks. @param count of the skipped chunks */
async function* behind(chunks: AsyncIterable<string>, count: number): AsyncGenerator<string> {
  let seen = 0;
  for await (const chunk of chunks) if (++seen > count) yield chunk;
}

/**
 * @param begun chunks that were delivered before; the answer continues after them
 * @returns null if no model can continue them. @throws ApiError
 */
export async function answerChat(
  given: ChatEngine,
  call: CallContext,
  { held, body, begun }: { held: HeldChat; body: Fields; begun: readonly string[] },
): Promise<ChatAnswering | null> {
  const { metering } = given.options;
  let charge: ChatCharge | null = null;
  const engine = withoutSettlement(given);
  const settlement: ChatEngine['settlement'] = {
    ...engine.settlement,
    async finish({ model: asked }, tokens, { model }) {
      charge = { tokens, model };
      const charged = metering.tokenAmounts(tokens.total, tokenRate(asked));
      return { applied: true, charged, balances: await metering.balances(call.principal.orgId) };
    },
  };
  const chat = await engine.admission.resume(held, body);
  const caller = engine.callers.enter(call);
  const leave = () => caller.leave();
  try {
    const parts = { ...engine, settlement };
    const live = { chat, caller, keepMade: null };
    const [first, ...rest] = begun;
    if (first === undefined)
      return { chunks: (await openStream(parts, live)).chunks, charge: () => charge, leave };
    const resumed = await resumeStream(parts, live, [first, ...rest]);
    if (resumed !== null)
      return { chunks: behind(resumed.chunks, begun.length), charge: () => charge, leave };
    leave();
    return null;
  } catch (error) {
    leave();
    throw error;
  }
}

/** Rebuilds a chat's answer from its chunks, as items of a response. */
export function replayedChat(chunks: readonly string[], ending: 'completed' | 'incomplete'): Replayed {
  const merged = new MergedMessage();
  const texts: string[] = [];
  for (const chunk of chunks) {
    const { choices } = JSON.parse(chunk) as { choices?: { delta?: Fields }[] };
    const delta = choices?.[0]?.delta;
    if (delta === undefined) continue;
    merged.take(delta);
    texts.push(...textsOf(delta));
  }
  const { content, tool_calls: calls } = merged.message();
  const output: Fields[] = [];
  if (typeof content === 'string' && content !== '') {
    const part = { type: 'output_text', text: content, annotations: [] };
    output.push({
      id: itemId('message'),
      type: 'message',
      role: 'assistant',
      status: ending,
      content: [part],
    });
  }
  for (const call of Array.isArray(calls) ? (calls as unknown[]).filter(isFields) : []) {
    const { name, arguments: said } = isFields(call['function']) ? call['function'] : {};
    const item = { id: itemId('function_call'), type: 'function_call', status: ending };
    output.push({ ...item, call_id: call['id'], name, arguments: said });
  }
  return { output, texts };
}

/** The texts of a delta: content, reasoning and arguments of calls. */
function textsOf(delta: Fields): string[] {
  const calls = Array.isArray(delta['tool_calls']) ? (delta['tool_calls'] as unknown[]) : [];
  const said = calls
    .filter(isFields)
    .map(({ function: asked }) => (isFields(asked) ? asked['arguments'] : null));
  return [delta['content'], delta['reasoning_content'], ...said].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
}
