import { nativeProvider } from './native/registry.js';
import { keyHeaderOf } from './predictions/provider-media.js';
import type { UpstreamSettings } from './upstream-settings.types.js';
import { Transport } from './openai-compatible/transport.js';

/** The result of a probe, which costs nothing. */
export interface ProbeResult {
  /** The request, such as `GET /models`. */
  request: string;
  status: number;
  refusesKey: boolean;
}

/**
 * Sends a request that only succeeds with a valid key. Null: the upstream's requests are signed individually, so a probe would show nothing.
 * @throws UpstreamError if no answer comes
 */
export async function probeUpstream(
  upstream: UpstreamSettings,
  signal: AbortSignal,
): Promise<ProbeResult | null> {
  const { kind, baseUrl, apiKey, timeouts } = upstream;
  const native = nativeProvider(kind);
  if (native?.probe === null) return null;
  const { path = '/models', headers, refusals = [] } = native?.probe ?? {};
  const key = apiKey !== undefined && headers !== undefined ? headers(apiKey) : keyHeaderOf(upstream, native);
  const transport = new Transport({
    baseUrl,
    headers: { ...key, ...upstream.headers },
    timeouts,
    secrets: [],
  });
  try {
    const status = await transport.statusOf(path, signal);
    const refusesKey = status === 401 || status === 403 || refusals.includes(status);
    return { request: `GET ${path}`, status, refusesKey };
  } finally {
    await transport.close();
  }
}
