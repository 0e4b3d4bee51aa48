import Anthropic from '@anthropic-ai/sdk';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';

export const user = (content: unknown = 'Hello') => ({ role: 'user' as const, content: content as string });
export const TOOL = {
  name: 'f',
  description: 'F',
  input_schema: { type: 'object' as const, properties: {} },
};
export const PDF = Buffer.from('%PDF-1.4 not really').toString('base64');
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

export type Create = Anthropic.MessageCreateParamsNonStreaming;

interface Row {
  operation: string;
  state: string;
  amounts: { bucket: string; amount: number }[];
}

export const credits = (row: Row | undefined): number | undefined =>
  row?.amounts.find(({ bucket }) => bucket === 'credits')?.amount;

export type MessageWorld = Awaited<ReturnType<typeof startMessageWorld>>;

/** A server with upstreams of both forms, which are one fake server, and a search. */
export async function startMessageWorld() {
  const upstream = await startFakeUpstream();
  const search = await startFakeUpstream();
  search.always({
    body: { results: [{ title: 'Tide', url: 'https://tide.example/', content: 'High at noon.' }] },
  });
  const model = (id: string, upstreamId: string, more: object = {}) => ({
    id,
    type: 'chat',
    tier: 'basic',
    upstreamId,
    ...more,
  });
  const provider = {
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    apiKey: 'k',
    retry: { retries: 0 },
  };
  const files = { modalities: { input: ['text', 'image', 'file'], output: ['text'] } };
  const server = await startPenstock({
    providers: {
      providers: [
        { id: 'acme', ...provider, models: [model('acme/chat', 'm', files)] },
        { id: 'nat', ...provider, dialects: ['messages'], models: [model('nat/chat', 'n', files)] },
        {
          id: 'open',
          ...provider,
          dialects: ['messages'],
          allowedTools: ['web_search', 'mcp', 'file_ids', 'code_execution'],
          models: [model('open/chat', 'o')],
        },
        {
          id: 'bed',
          ...provider,
          kind: 'amazon-bedrock',
          models: [
            model('bed/claude', 'us.anthropic.claude-x-v1:0'),
            { ...model('bed/nova', 'amazon.nova-x'), tier: 'basic' },
          ],
        },
        { id: 'ant', ...provider, kind: 'anthropic', models: [model('ant/chat', 'claude', files)] },
      ],
      fallbacks: { 'nat/chat': ['acme/chat'] },
    },
    env: { SEARXNG_URL: search.baseUrl.replace('/v1', '') },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  const org = await server.createOrg({ plan: 'business_monthly' });
  const client = new Anthropic({ apiKey: org.key, baseURL: server.origin, maxRetries: 0 });
  return {
    upstream,
    search,
    server,
    org,
    client,
    /** The request that reached an upstream last. */
    sent: () => upstream.requests.at(-1)!,
    forget() {
      upstream.requests.length = 0;
      search.requests.length = 0;
    },
    ask: (body: object): Promise<Anthropic.Message> =>
      client.messages.create({ max_tokens: 100, messages: [user()], ...body } as Create),
    stream: (body: object) =>
      client.messages.stream({ max_tokens: 100, messages: [user()], ...body } as Create),
    async ledger(): Promise<Row[]> {
      const query = `{ usageRecords(first: 100) { nodes { operation state amounts { bucket amount } } } }`;
      const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key: org.key });
      return data!.usageRecords.nodes;
    },
    async close() {
      await server.close();
      await upstream.close();
      await search.close();
    },
  };
}
