import { startNativeUpstream } from './native-upstream.js';
import type { NativeReply, NativeUpstream } from './native-upstream.js';
import { startPenstock } from './server.js';
import type { TestServer } from './server.js';

/** The path prefix of each maker's API at the upstream of {@link startMakers}. */
const PATHS: Readonly<Record<string, string>> = {
  anthropic: '/v1',
  'amazon-bedrock': '',
  cohere: '/v2',
  google: '/v1beta',
  mistral: '/mistral',
};

/** Kind → our model's name → its maker's name. */
export type MakersModels = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Makers {
  penstock: TestServer;
  upstream: NativeUpstream;
  close(): Promise<void>;
}

/** A server with models of several makers at one upstream; ids are `<kind>/<name>`. Models with "embed" in their name are embeddings, all others chat. */
export async function startMakers(
  models: MakersModels,
  fallbacks: Record<string, string[]> = {},
  /** Our model's id → fields that are never sent to it. */
  omitted: Record<string, string[]> = {},
): Promise<Makers> {
  const upstream = await startNativeUpstream();
  const providers = Object.entries(models).map(([kind, named]) => ({
    id: kind,
    kind,
    baseUrl: upstream.origin + PATHS[kind]!,
    apiKey: `sk-${kind}-secret`,
    retry: { retries: 0, backoffMs: 1 },
    models: Object.entries(named).map(([name, upstreamId]) => ({
      id: `${kind}/${name}`,
      upstreamId,
      type: name.includes('embed') ? 'embedding' : 'chat',
      tier: 'basic',
      omit: omitted[`${kind}/${name}`] ?? [],
    })),
  }));
  const penstock = await startPenstock({ providers: { providers, fallbacks } });
  return {
    penstock,
    upstream,
    async close() {
      await penstock.close();
      await upstream.close();
    },
  };
}

/** The spent amounts of an organisation. */
export async function creditsUsed(penstock: TestServer, key: string): Promise<number> {
  const { body } = await penstock.rest<{ quotas: { credits: { used: number } } }>('GET', '/quota', { key });
  return body.quotas.credits.used;
}

const answerOf = {
  anthropic: {
    type: 'message',
    id: 'msg_1',
    model: 'claude-haiku-4-5',
    role: 'assistant',
    content: [{ type: 'text', text: 'Yes' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
  bedrock: {
    output: { message: { role: 'assistant', content: [{ text: 'Yes' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
  },
  cohere: {
    message: { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
    finish_reason: 'COMPLETE',
    usage: { tokens: { input_tokens: 3, output_tokens: 1 } },
  },
  google: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Yes' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
  },
  mistral: {
    id: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  },
};

/** Each maker's path for chat, and a whole answer of the maker with the text "Yes". */
export const CHATS: readonly (readonly [string, NativeReply])[] = [
  ['/v1/messages', { body: answerOf.anthropic }],
  ['/converse', { body: answerOf.bedrock }],
  ['/v2/chat', { body: answerOf.cohere }],
  [':generateContent', { body: answerOf.google }],
  ['/mistral', { body: answerOf.mistral }],
];
