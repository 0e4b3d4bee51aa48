import OpenAI from 'openai';
import { chunk, startFakeUpstream } from './fake-upstream.js';
import type { FakeUpstream, Reply } from './fake-upstream.js';
import { startPenstock } from './server.js';
import type { TestServer } from './server.js';

/** An upstream whose answers a test decides, and a reader of answers that works like the convention's own client. */
export interface OddUpstream {
  upstream: FakeUpstream;
  penstock: TestServer;
  key: string;
  /** The answer to a reply, `streamed` or `whole`. */
  ask(way: string, reply: Reply): Promise<Said>;
  /** Joins chunks like clients that join every field. */
  joined(reply: Reply): Promise<string>;
  close(): Promise<void>;
}

export interface Said {
  content: string | null;
  calls: { id: string; name: string; arguments: string }[];
  finish: string | null;
  /** Tokens of the prompt, of the answer, and the total. */
  tokens: number[];
}

export const WAYS = ['streamed', 'whole'] as const;
export const finish = (reason: unknown = 'stop'): string => chunk({}, { finish_reason: reason });

const NAMES = ['get_weather', 'go', 'haha', 'go_on'];
/** Requests an answer, with tools. */
export const ODD_BODY = {
  model: 'acme/chat',
  messages: [{ role: 'user' as const, content: 'Hi' }],
  tools: NAMES.map((name) => ({ type: 'function' as const, function: { name } })),
};

function saidIn({ choices, usage }: OpenAI.Chat.Completions.ChatCompletion): Said {
  const [choice] = choices;
  return {
    content: choice!.message.content,
    calls: (choice!.message.tool_calls ?? []).map((call) => {
      const { name, arguments: given } = (call as { function: { name: string; arguments: string } }).function;
      return { id: call.id, name, arguments: given };
    }),
    finish: choice!.finish_reason,
    tokens: [usage!.prompt_tokens, usage!.completion_tokens, usage!.total_tokens],
  };
}

export async function startOddUpstream(): Promise<OddUpstream> {
  const upstream = await startFakeUpstream();
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    retry: { retries: 0, backoffMs: 1 },
    models: ['chat', 'spare'].map((name) => ({
      id: `acme/${name}`,
      upstreamId: name,
      type: 'chat',
      tier: 'basic',
    })),
  };
  const plans = {
    plans: { business_monthly: { rate: { rpm: 6000, burst: 6000 }, limits: { credits: 100_000 } } },
    endpointLimits: { chat: { limit: 5000, windowSeconds: 60 } },
  };
  const providers = { providers: [acme], fallbacks: { 'acme/chat': ['acme/spare'] } };
  const penstock = await startPenstock({ providers, plans });
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const client = new OpenAI({ apiKey: key, baseURL: `${penstock.origin}/api/v1`, maxRetries: 0 });
  const { completions } = client.chat;
  return {
    upstream,
    penstock,
    key,
    async ask(way, reply) {
      upstream.queue(reply);
      return saidIn(
        await (way === 'whole'
          ? completions.create(ODD_BODY)
          : completions.stream(ODD_BODY).finalChatCompletion()),
      );
    },
    async joined(reply) {
      upstream.queue(reply);
      let text = '';
      for await (const part of await completions.create({ ...ODD_BODY, stream: true }))
        for (const call of part.choices[0]?.delta.tool_calls ?? [])
          text += `${call.id ?? ''}${call.type ?? ''}${call.function?.name ?? ''}${call.function?.arguments ?? ''}`;
      return text;
    },
    async close() {
      await penstock.close();
      await upstream.close();
    },
  };
}
