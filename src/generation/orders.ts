import type { JobOrders } from '../jobs/jobs.types.js';
import type { Model } from '../models/models.types.js';
import type { OrderLog, Provider, ProviderRegistry } from '../providers/index.js';

/** What stands for an engine in a job's orders: the provider, then the model as it is called there. */
export function engineName(provider: Provider, target: Model): string {
  return `${provider.id} ${target.upstream?.modelId ?? target.name}`;
}

/** A job's orders as one engine sees them. */
export function orderLogOf(orders: JobOrders, engine: string): OrderLog {
  return {
    earlier: () => orders.find(engine),
    held: () => orders.held(),
    placed: (reference) => orders.note(engine, reference),
    withdrawn: (reference) => orders.withdrawn(engine, reference),
    goesOn: () => orders.handedOver(),
  };
}

const WITHDRAW_MS = 5000;

/** What takes an order back by the name of its engine; an engine that is not configured any more cannot. */
export function createWithdrawal(
  providers: ProviderRegistry,
  kind: 'video' | 'music' | 'edit',
): (engine: string, reference: string) => Promise<void> {
  return async (engine, reference) => {
    const [providerId = '', ...modelId] = engine.split(' ');
    const provider = providers.find(providerId);
    await provider?.[kind]?.(modelId.join(' ')).withdraw?.(reference, AbortSignal.timeout(WITHDRAW_MS));
  };
}
