import { createHash } from 'node:crypto';
import type { JobOrders } from '../../jobs/jobs.types.js';
import type { Model } from '../../models/models.types.js';
import type { Tool } from '../../contract/words.js';
import type { OrderLog, Ordering, Provider, ProviderRegistry } from '../../providers/index.js';

/** The key of an engine in a job's orders: the provider, the provider's name of the model, and the part of the work if it is ordered in parts. */
export function engineName(provider: Provider, target: Model, part = 0): string {
  return `${provider.id} ${target.upstream?.modelId ?? target.name}${part === 0 ? '' : ` #${part}`}`;
}

/** The orders of one engine in a job. */
export function orderLogOf(orders: JobOrders, engine: string): OrderLog {
  const named = createHash('sha256').update(`${orders.jobId}\n${engine}`).digest('hex');
  return {
    key: `penstock-${named.slice(0, 32)}`,
    earlier: () => orders.find(engine),
    held: () => orders.held(),
    placed: (reference) => orders.note(engine, reference),
    withdrawn: (reference) => orders.withdrawn(engine, reference),
    isHandedOver: () => orders.isHandedOver(),
  };
}

const WITHDRAW_MS = 5000;

/** Cancels an order by the key of its engine, if the engine is still configured. */
export function createWithdrawal(
  providers: ProviderRegistry,
  kind: Tool,
): (engine: string, reference: string) => Promise<void> {
  return async (engine, reference) => {
    const [providerId = '', ...modelId] = engine.split(' ');
    const provider = providers.find(providerId);
    const ordering = provider?.[kind]?.(modelId.join(' ').replace(/ #\d+$/, '')) as Ordering | undefined;
    await ordering?.withdraw?.(reference, AbortSignal.timeout(WITHDRAW_MS));
  };
}
