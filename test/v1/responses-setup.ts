import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

export interface Row {
  operation: string;
  state: string;
  amounts: { bucket: string; amount: number }[];
}

/** An installation with upstreams of both forms and a search provider, and an organisation's client. */
export interface ResponsesSetup {
  server: TestServer;
  upstream: FakeUpstream;
  search: FakeUpstream;
  key: string;
  client: OpenAI;
  /** Newest first. */
  ledger(): Promise<Row[]>;
  close(): Promise<void>;
}

export const credits = (row: Row | undefined): number | undefined =>
  row?.amounts.find(({ bucket }) => bucket === 'credits')?.amount;

export async function eventsOf(
  asked: Promise<AsyncIterable<ResponseStreamEvent>>,
): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const one of await asked) events.push(one);
  return events;
}

function providersAt(baseUrl: string) {
  const model = (id: string, upstreamId: string) => ({ id, type: 'chat', tier: 'basic', upstreamId });
  const provider = { kind: 'openai-compatible', baseUrl, apiKey: 'k', retry: { retries: 0 } };
  const dialects = ['responses'];
  return {
    providers: [
      { id: 'acme', ...provider, models: [model('acme/chat', 'm')] },
      { id: 'nat', ...provider, dialects, models: [model('nat/chat', 'n')] },
      {
        id: 'open',
        ...provider,
        dialects,
        allowedTools: ['file_search', 'web_search', 'file_ids'],
        models: [model('open/chat', 'o')],
      },
      { id: 'oai', ...provider, kind: 'openai', models: [model('oai/chat', 'g')] },
    ],
    fallbacks: { 'nat/chat': ['acme/chat'] },
  };
}

export async function startResponses(): Promise<ResponsesSetup> {
  const upstream = await startFakeUpstream();
  const search = await startFakeUpstream();
  search.always({
    body: { results: [{ title: 'Tide', url: 'https://tide.example/', content: 'High at noon.' }] },
  });
  const server = await startPenstock({
    providers: providersAt(upstream.baseUrl),
    env: { SEARXNG_URL: search.baseUrl.replace('/v1', '') },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  return {
    server,
    upstream,
    search,
    key,
    client: new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 }),
    async ledger() {
      const query = `{ usageRecords(first: 50) { nodes { operation state amounts { bucket amount } } } }`;
      const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key });
      return data!.usageRecords.nodes;
    },
    async close() {
      await server.close();
      await upstream.close();
      await search.close();
    },
  };
}
