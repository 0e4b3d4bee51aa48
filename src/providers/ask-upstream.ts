import { keyHeaderOf } from './predictions/provider-media.js';
import type { UpstreamSettings } from './upstream-settings.types.js';
import { Transport } from './openai-compatible/transport.js';

/** How a kind is asked whether it takes a key, where that is not `GET /models` with the header that our own calls carry it in. */
interface Question {
  path?: string;
  /** As the kind's package sends it. */
  headers?(apiKey: string): Record<string, string>;
  /** Statuses that refuse the key, besides 401 and 403. */
  refusals?: readonly number[];
}

const QUESTIONS: Partial<Record<UpstreamSettings['kind'], Question>> = {
  anthropic: {
    headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  },
  // A wrong key is an invalid argument there.
  google: { refusals: [400] },
  luma: { path: '/dream-machine/v1/generations?limit=1' },
  elevenlabs: { path: '/v1/models' },
  deepgram: { path: '/v1/projects', headers: (apiKey) => ({ authorization: `Token ${apiKey}` }) },
  assemblyai: { path: '/v2/transcript?limit=1', headers: (apiKey) => ({ authorization: apiKey }) },
};

/** What an upstream said to a question that costs nothing. */
export interface UpstreamAnswer {
  /** What was asked, as `GET /models`. */
  asked: string;
  status: number;
  refusesKey: boolean;
}

/**
 * Asks an upstream for something that only whoever has a right key may see. Null: its requests are signed one by one, and such a question
 * would tell nothing.
 * @throws UpstreamError where no answer comes
 */
export async function askUpstream(
  upstream: UpstreamSettings,
  signal: AbortSignal,
): Promise<UpstreamAnswer | null> {
  const { kind, baseUrl, apiKey, timeouts } = upstream;
  if (kind === 'amazon-bedrock') return null;
  const { path = '/models', headers, refusals = [] } = QUESTIONS[kind] ?? {};
  const key = apiKey !== undefined && headers !== undefined ? headers(apiKey) : keyHeaderOf(upstream);
  const transport = new Transport({
    baseUrl,
    headers: { ...key, ...upstream.headers },
    timeouts,
    secrets: [],
  });
  try {
    const status = await transport.statusOf(path, signal);
    const refusesKey = status === 401 || status === 403 || refusals.includes(status);
    return { asked: `GET ${path}`, status, refusesKey };
  } finally {
    await transport.close();
  }
}
