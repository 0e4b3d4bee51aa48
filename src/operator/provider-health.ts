import { reachUpstream, readProvidersFile } from '../providers/index.js';
import type { RegistryOptions } from '../providers/index.js';
import type { ModelCatalogue } from '../models/models.types.js';
import type { Usage } from '../usage/usage.types.js';
import type { ProviderHealth } from './operator.types.js';

/** Upstreams are not asked more often, however often a page is opened. */
const FRESH_MS = 30_000;

export interface ProviderHealthOptions {
  providers: Pick<RegistryOptions, 'file' | 'env'>;
  models: Pick<ModelCatalogue, 'list'>;
  usage: Pick<Usage, 'lastHour'>;
}

const NO_CALLS = { requests: 0, errors: 0, latencyMs: { p50: null, p95: null } };

type Probed = Pick<ProviderHealth, 'id' | 'kind' | 'ok' | 'detail'>;

async function probe({ file, env }: ProviderHealthOptions['providers']): Promise<Probed[]> {
  const { upstreams } = await readProvidersFile({ file, env });
  return Promise.all(
    upstreams.map(async (upstream) => {
      const { id, kind } = upstream;
      return { id, kind, ...(await reachUpstream(upstream)) };
    }),
  );
}

async function look(options: ProviderHealthOptions): Promise<ProviderHealth[]> {
  const [probed, calls] = await Promise.all([probe(options.providers), options.usage.lastHour()]);
  const models = options.models.list({ available: true });
  const served = (id: string) => models.filter((model) => model.upstream?.providerId === id);
  // What serves models and is no upstream needs no network.
  const serving = new Set(models.flatMap(({ upstream }) => (upstream === null ? [] : [upstream.providerId])));
  const own = [...serving]
    .filter((id) => !probed.some((one) => one.id === id))
    .map((id): Probed => ({ id, kind: id, ok: true, detail: 'runs in this process' }));
  const checkedAt = new Date();
  return [...probed, ...own].map((one) => {
    const { requests, errors, latencyMs } = calls.get(one.id) ?? NO_CALLS;
    const lastHour = { requests, errors, p50Ms: latencyMs.p50, p95Ms: latencyMs.p95 };
    return { ...one, models: served(one.id).length, checkedAt, lastHour };
  });
}

/** Looks at all providers; callers within {@link FRESH_MS} share one look. */
export function createProviderHealth(options: ProviderHealthOptions): () => Promise<ProviderHealth[]> {
  let last: { at: number; found: Promise<ProviderHealth[]> } | null = null;
  return () => {
    if (last !== null && performance.now() - last.at < FRESH_MS) return last.found;
    const found = look(options);
    const current = { at: performance.now(), found };
    last = current;
    return found.catch((error: unknown) => {
      if (last === current) last = null;
      throw error;
    });
  };
}
