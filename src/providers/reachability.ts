import { probeUpstream } from './probe-upstream.js';
import type { UpstreamSettings } from './upstream-settings.types.js';

/** What a probe of an upstream shows. Holds no secret: an address's query, which may have a key, is left out. */
export interface Reachability {
  /** False where it does not answer, or rejects the key. */
  ok: boolean;
  /** A sentence for the operator. */
  detail: string;
}

const ANSWER_MS = 5000;

/** Asks an upstream for what costs nothing. An answer of any kind is reachability; only a refused key is a fault of the configuration. */
export async function reachUpstream(upstream: UpstreamSettings): Promise<Reachability> {
  const { origin, pathname } = new URL(upstream.baseUrl);
  const address = `${origin}${pathname === '/' ? '' : pathname}`;
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    const answer = await probeUpstream(upstream, signal);
    if (answer === null)
      return { ok: true, detail: `${address} was not checked: its requests need a signature` };
    const { request, status, refusesKey } = answer;
    if (refusesKey) return { ok: false, detail: `${address} rejects the key (${status})` };
    if (status < 300) return { ok: true, detail: `${address} answers` };
    const doubt = `${status} to ${request}; that does not show whether the key is valid`;
    return { ok: true, detail: `${address} answers (${doubt})` };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const reason = signal.aborted ? `no answer within ${ANSWER_MS / 1000} s` : said;
    return { ok: false, detail: `${address} does not answer: ${reason}` };
  }
}
