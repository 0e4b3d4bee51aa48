import { startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

export interface BothForms {
  server: TestServer;
  /** Behind both providers. */
  upstream: FakeUpstream;
  close(): Promise<void>;
}

/** A server with `acme/chat`, whose upstream speaks chat alone, and `nat/chat`, whose upstream speaks dialects too. */
export async function startBothForms({
  dialects = ['responses', 'messages'],
  model: more = {},
  provider: settings = { retry: { retries: 0 } },
  callsPerMinute = 1000,
}: {
  dialects?: ('responses' | 'messages')[];
  /** More fields of both models. */
  model?: object;
  /** More fields of both providers. Default: nothing is tried again. */
  provider?: object;
  callsPerMinute?: number;
} = {}): Promise<BothForms> {
  const upstream = await startFakeUpstream();
  const provider = { kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'k', ...settings };
  const model = { type: 'chat', tier: 'basic', upstreamId: 'm', ...more };
  const server = await startPenstock({
    providers: {
      providers: [
        { id: 'acme', ...provider, models: [{ id: 'acme/chat', ...model }] },
        { id: 'nat', ...provider, dialects, models: [{ id: 'nat/chat', ...model }] },
      ],
    },
    plans: { endpointLimits: { chat: { limit: callsPerMinute, windowSeconds: 60 } } },
  });
  return {
    server,
    upstream,
    async close() {
      await server.close();
      await upstream.close();
    },
  };
}
